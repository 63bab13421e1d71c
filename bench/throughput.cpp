// How many instances per second a model trains on or infers, and where the time goes.
#include "bench/support/table.h"

namespace {

constexpr const char* kAbout =
    "Measures training and inference, row by row:\n"
    "MODEL/hHIDDEN/bBATCH/MODE/FORM/POLICY/tTHREADS.\n"
    "FORM is fused (layers of nn/), ops (one affine map per gate) or single (ops, no batching).\n"
    "\n"
    "Columns: instances per second, microseconds per instance, GFLOP/s of the matrix products and\n"
    "their share of the peak of fused multiply-adds on as many cores, nanoseconds per node for\n"
    "recording, planning and the rest of what is not kernels, the share of the step that is\n"
    "neither kernels nor update, and batches, their lower bound and kernel calls per minibatch.\n"
    "bench/compare.py shows two files of --json side by side.";

}  // namespace

int main(int argc, char** argv) {
  using namespace dynet_like::bench;
  return run_table(argc, argv, "throughput", kAbout, all_rows(), "/b64/.*/auto/t1", measure);
}
