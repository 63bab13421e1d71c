// How many instances per second a model trains on or infers, and where the time goes.
#include "bench/support/table.h"

namespace {

constexpr const char* kAbout =
    "Measures training and inference, row by row:\n"
    "MODEL/hHIDDEN/bBATCH/MODE/FORM/POLICY/tTHREADS.\n"
    "FORM is fused (layers of nn/), ops (one affine map per gate), steps (the same, each step a\n"
    "cell(f); Tree-LSTMs) or single (ops, no batching).\n"
    "\n"
    "Columns: instances per second, microseconds per instance, processor time per time (less than\n"
    "100 % per thread: the machine was busy), GFLOP/s of the matrix products and their share of "
    "the\n"
    "peak of fused multiply-adds on as many cores, nanoseconds per node for recording, planning "
    "and\n"
    "the rest of what is not kernels, the share of the step that is neither kernels nor update, "
    "and\n"
    "batches, their lower bound and kernel calls per minibatch.\n"
    "bench/compare.py shows two files of --json side by side.\n"
    "\n"
    "With --device cuda or cuda-host a second table counts, per minibatch after three others, "
    "what\n"
    "the device was asked to do: kernels launched (and per batch), copies, kilobytes over the "
    "bus,\n"
    "waits of the host, allocations, batches that ran on the CPU for want of a kernel, megabytes "
    "in\n"
    "use, and how long it was busy: from the first copy of a submission to its last kernel, gaps\n"
    "between launches included. From the counts and the products it predicts the time on an H100;\n"
    "bench/support/gpu_model.h has the formula and its constants, and --constants gives those that "
    "the\n"
    "program constants measured. The host's time is that of recording and planning on this\n"
    "machine, or --host-us. cuda-host runs a GPU's kernels on the CPU: its counts are a GPU's, "
    "its\n"
    "speed means nothing.";

}  // namespace

int main(int argc, char** argv) {
  using namespace dynet_like::bench;
  return run_table(argc, argv,
                   {"throughput", kAbout, all_rows(), "/b64/.*/auto/t1", measure, true});
}
