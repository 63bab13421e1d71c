// How many instances per second a model trains on or infers, and where the time goes.
#include "bench/support/table.h"

namespace {

constexpr const char* kAbout =
    "Measures training and inference, row by row:\n"
    "MODEL/hHIDDEN/bBATCH/MODE/FORM/POLICY/tTHREADS.\n"
    "FORM is fused (layers of nn/), ops (one affine map per gate), steps (the same, each step a\n"
    "cell(f); Tree-LSTMs) or single (ops, no batching).\n"
    "\n"
    "Columns: instances per second, microseconds per instance, processor time as a share of the\n"
    "time (less than 1 per thread: the machine was busy), GFLOP/s of the matrix products and "
    "their\n"
    "share of the peak of fused multiply-adds on as many cores, nanoseconds per node for "
    "recording,\n"
    "planning and everything else outside of kernels, the share of a step outside of kernels and\n"
    "update, and batches, their lower bound and kernel calls per minibatch. bench/compare.py "
    "shows\n"
    "two files of --json side by side.\n"
    "\n"
    "With --device cuda or cuda-host a second table counts the device's work per minibatch: "
    "kernels\n"
    "launched forward, backward and by the update, further steps of launches, copies to the "
    "device\n"
    "and back, kilobytes over the bus, waits of the host, allocations, batches that ran on the "
    "CPU\n"
    "for want of a kernel; microseconds of the host to record and plan, and of the device from "
    "the\n"
    "first copy of a submission to its last kernel; and the time that an H100 is predicted to "
    "take\n"
    "(bench/support/device_work.h). cuda-host runs GPU kernels on the CPU: its counts are those "
    "of\n"
    "a GPU, its speed means nothing.";

}  // namespace

int main(int argc, char** argv) {
  using namespace dynet_like::bench;
  return run_table(argc, argv, {"throughput", kAbout, all_rows(), "/b64/.*/auto/t1", measure});
}
