# The same tests on another device: each program once more, with DYNET_LIKE_DEVICE in its environment.
#
# cuda-host.X runs X with the kernels for GPUs on the CPU (label cuda), gpu.X on the first GPU (label
# gpu; skipped where there is none). Left out is what looks at nothing that a device does.
set(cpu_only_tests
    address_space_test atomic_file_test batching_test compat_c2w_test compat_dict_test
    compat_dim_test compat_headers_test compat_mp_test compat_pretrain_test compat_timing_test
    core_test data_listops_test data_minibatches_test data_tagged_sentences_test data_text_test
    data_treebank_test data_vocabulary_test data_word_vectors_test failing_allocations_test
    failing_files_test compat_failing_allocations_test lanes_test op_errors_test op_places_test op_table_test
    packed_matrices_test packed_products_test tape_test thread_pool_test
    train_curves_test train_metrics_test train_schedules_test updates_test)

if(DYNET_LIKE_CUDA STREQUAL HOST)
  set(prefix cuda-host)
  set(label cuda)
  set(device cuda-host)
elseif(DYNET_LIKE_CUDA)
  set(prefix gpu)
  set(label gpu)
  set(device cuda)
else()
  return()
endif()

set(device_programs)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  if(name IN_LIST cpu_only_tests)
    continue()
  endif()
  list(APPEND device_programs ${name})
  if(name MATCHES "^cuda_")
    set_tests_properties(${name} PROPERTIES LABELS ${label})
    continue()
  endif()
  add_test(NAME ${prefix}.${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  # Cells of few nodes are not worth the launches that they cost on a GPU, but are to be tested.
  set_tests_properties(${prefix}.${name} PROPERTIES
    ENVIRONMENT "${environment};DYNET_LIKE_DEVICE=${device};DYNET_LIKE_NODES_PER_CALL=19" TIMEOUT 900 LABELS ${label}
    SKIP_REGULAR_EXPRESSION "there is no CUDA driver|finds no GPU")
endforeach()
add_dependencies(device_tests ${device_programs})
