// The cost of giving each molecule a graph of its own, compared with graphs joined by hand.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <vector>

#include "bench/models/graph_network.h"
#include "bench/support/program.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::bench::molecules;

struct Form {
  const char* name;
  void (*record)(Minibatch&, const GraphNetwork&, std::span<const Molecules>);
  std::size_t together;
  std::vector<double> speeds = {};
  std::size_t batches = 0;  ///< for the first minibatch
};

/// Goes through all molecules once, forward and backward without updates. Returns the sum of
/// losses.
double run_form(Form& form, const GraphNetwork& network, std::span<const Molecules> all) {
  Minibatch batch;
  double loss = 0;
  for (std::size_t begin = 0; begin < all.size(); begin += form.together, batch.clear()) {
    const std::size_t count = std::min(form.together, all.size() - begin);
    form.record(batch, network, all.subspan(begin, count));
    loss += static_cast<double>(batch.forward());
    batch.backward();
    if (begin == 0) form.batches = batch.explain().batches;
  }
  return loss;
}

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  unsigned count = 1024, together = 32, hidden = 64;
  double seconds = 3;
  po::options_description options(
      "Networks that pass messages along the bonds of molecules of 2 to 30 atoms. Prints "
      "molecules\n"
      "per second of processor time with one thread, to record them and run forward and backward\n"
      "(median of runs that take turns), and the batches of a minibatch: for single molecules, "
      "for\n"
      "a minibatch of graphs, and for molecules joined by hand to one graph.\n\n"
      "Options");
  options.add_options()("molecules", po::value(&count)->default_value(count),
                        "number of molecules")(
      "batch", po::value(&together)->default_value(together), "molecules per minibatch")(
      "hidden", po::value(&hidden)->default_value(hidden), "size of an atom's vector")(
      "seconds", po::value(&seconds)->default_value(seconds), "seconds of measuring");
  po::variables_map values;
  if (!bench::read_command_line(argc, argv, options, values)) return;
  bench::check_range("seconds", seconds, 0.001, 3600);
  bench::check_range("molecules", count, 1, 1000000);
  bench::check_range("batch", together, 1, 100000);
  bench::check_range("hidden", hidden, 1, 4096);

  Random random(1);
  std::vector<Molecules> all;
  for (unsigned i = 0; i < count; ++i) {
    all.push_back(random_molecule(2 + static_cast<unsigned>(random.below(29)), random));
  }
  const GraphNetwork network(hidden);
  Form forms[] = {{"alone", record_each, 1},
                  {"together", record_each, together},
                  {"joined", record_joined, together}};
  const double expected = run_form(forms[0], network, all);
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (Form& form : forms) {
      const std::clock_t start = std::clock();
      const double loss = run_form(form, network, all);
      const auto ticks = static_cast<double>(std::clock() - start);
      if (std::abs(loss - expected) > 1e-4 * expected) {
        throw std::logic_error("the forms have different losses");
      }
      form.speeds.push_back(static_cast<double>(all.size()) * CLOCKS_PER_SEC / ticks);
    }
  } while (std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(seconds));
  std::printf("%10s %12s %10s\n", "", "molecules/s", "batches");
  for (Form& form : forms) {
    std::sort(form.speeds.begin(), form.speeds.end());
    std::printf("%10s %12.0f %10zu\n", form.name, form.speeds[form.speeds.size() / 2],
                form.batches);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("graph_networks", [&] { run(argc, argv); });
}
