# Compiles all C++ blocks of docs/data.md as one program, and calls its functions with small files.
set(page ${PROJECT_SOURCE_DIR}/docs/data.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
file(READ ${page} text)
if(NOT text MATCHES "<< '.n';  // ([^\n]+)\n")
  message(FATAL_ERROR "docs/data.md: need what the words print, as a comment; got none")
endif()
set(printed_words "${CMAKE_MATCH_1}")
set(code "")
while(TRUE)
  string(FIND "${text}" "```cpp\n" begin)
  if(begin EQUAL -1)
    break()
  endif()
  math(EXPR begin "${begin} + 7")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} block)
  string(APPEND code "${block}\n")
  string(SUBSTRING "${text}" ${end} -1 text)
endwhile()

set(main [[
#include <filesystem>
#include <fstream>

int main(int, char** arguments) {
  const std::string folder = arguments[1];
  std::filesystem::create_directories(folder);
  const auto file = [&](const char* name, const char* text) {
    std::ofstream(folder + name, std::ios::binary) << text;
    return folder + name;
  };
  const std::string conllu = file("/a.conllu",
      "1\tCats\tcat\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\t_\n2\trun\trun\tVERB\t_\t_\t0\troot\t_\t_\n\n");
  count_crossing_trees(conllu);
  nn::Vocabulary tags = tags_of(conllu, file("/tags", "Ann\tB-person\n"));
  std::cout << tags.size() << " tags\n";
  const std::string scan = file("/scan", "IN: jump twice OUT: I_JUMP I_JUMP\nIN: walk OUT: I_WALK\n");
  read_pairs(file("/labels.tsv", "1\tgood film\n"),
             file("/pairs.tsv", "gold_label\tpremise\thypothesis\nentailment\ta dog\tan animal\n"),
             file("/english", "good day\n"), file("/german", "guten Tag\n"), scan);
  read_trees_and_text(file("/trees", "(3 (2 It) (4 (2 's) (3 good)))\n"),
                      file("/lists", "3\t( ( ( [MAX 2 ) 3 ) ] )\n"), file("/text", "abc\n"));
  const std::vector<float> rows = {0, 1, 2, 3, 4, 5};
  write_npy(folder + "/rows.npy", {"", "F32", {3, 2}, std::as_bytes(std::span(rows))});
  normalise(folder + "/words");
  nn::Vocabulary words;
  words.add_all(std::vector<std::string>{"NOUN", "VERB"});
  use_word_vectors(file("/vectors", "NOUN 1 2\nother 3 4\n"), folder + "/rows.npy", words);
  train(nn::read_scan(scan), Random(1), 0);
  share_with_python(folder);
}
]])
set(source ${CMAKE_CURRENT_BINARY_DIR}/data_page_program.cpp)
file(CONFIGURE OUTPUT ${source} CONTENT "@code@@main@" @ONLY)
dynet_like_program(data_page_program ${source})
add_test(NAME data_page_program
         COMMAND data_page_program ${CMAKE_CURRENT_BINARY_DIR}/data_page_program.files)
# One line of each function.
string(JOIN ".*" expected "0 of 1 trees cross, 1 plurals" "3 tags" "1: 2 words"
       "a dog . an animal . entailment" "good day . guten Tag" "jump twice . I_JUMP I_JUMP"
       "5 nodes, 3, 4 characters" "good [0-9], label 3" "\n${printed_words}\n" "2 of 3 words have vectors" "minibatch 1: 2 samples" "3 columns")
set_tests_properties(data_page_program PROPERTIES PASS_REGULAR_EXPRESSION "${expected}")
