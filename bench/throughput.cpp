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
    "time (less than 100 % per thread: the machine was busy), GFLOP/s of the matrix products and\n"
    "their share of the peak of fused multiply-adds on as many cores, nanoseconds per node for\n"
    "recording, planning and everything else outside of kernels, the share of a step outside of\n"
    "kernels and update, and batches, their lower bound and kernel calls per minibatch.\n"
    "bench/compare.py shows two files of --json side by side.\n"
    "\n"
    "With --device cuda or cuda-host a second table counts the device's work per minibatch, after\n"
    "three others: kernels launched (and per batch), copies, kilobytes over the bus, waits of the\n"
    "host, allocations, batches that ran on the CPU because the device has no kernel for them,\n"
    "megabytes in use, and how long it was busy: from the first copy of a submission to its last\n"
    "kernel, including gaps between launches. From these counts and the products it predicts the\n"
    "time on an H100; bench/support/gpu_model.h has the formula and its constants, and "
    "--constants\n"
    "reads those that the program constants has measured. The host's time is that of recording "
    "and\n"
    "planning on this machine, or --host-us. cuda-host runs GPU kernels on the CPU: its counts "
    "are\n"
    "those of a GPU, its speed means nothing.";

}  // namespace

int main(int argc, char** argv) {
  using namespace dynet_like::bench;
  return run_table(argc, argv,
                   {"throughput", kAbout, all_rows(), "/b64/.*/auto/t1", measure, true});
}
