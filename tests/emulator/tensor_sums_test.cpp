// Sums of tensor cores, whose additions cut off, are as exact as those of chains of fused
// multiply-adds.
#include "dynet_like/device/cuda/tensor_tile.h"
#include "tests/emulator/emulator_fixture.h"
#include "tests/support/precompiled.h"

namespace dynet_like::detail::cuda {
namespace {

// Both sides lie as in shared memory: the numbers of a term are consecutive.
__global__ void multiply(const float* left, const float* right, unsigned terms, float* to) {
  Accumulators<TensorTile> results;
  for (unsigned k = 0; k < terms; k += TensorTile::depth) {
    results.multiply(left + k * TensorTile::left_stride, right + k * TensorTile::right_stride,
                     TensorTile::depth);
  }
  results.for_groups([&](unsigned row, unsigned column, const float* result) {
    to[column * TensorTile::rows + row] = *result;
  });
}

struct Errors {
  double largest = 0, mean = 0;  ///< relative to the sum of the terms without their signs
};

class TensorSumsTest : public EmulatorTest {
 protected:
  // Numbers of 11 bits, which tensor cores take as they are, from `least` to 1.
  Numbers draw_short(std::size_t n, double least) {
    Numbers numbers(n);
    for (float& number : numbers) {
      number =
          static_cast<float>(std::round((least + (1 - least) * random_.uniform()) * 512) / 512);
    }
    return numbers;
  }
  /// The errors of tensor cores and those of chains of fused multiply-adds.
  std::pair<Errors, Errors> errors(unsigned terms, double least) {
    using Tile = TensorTile;
    const Numbers left = draw_short(std::size_t{terms} * Tile::left_stride, least);
    const Numbers right = draw_short(std::size_t{terms} * Tile::right_stride, least);
    float* const to = make(Numbers(Tile::rows * Tile::columns));
    launch({1, 1, 1, Tile::threads}, Threads::cooperating, multiply, make(left), make(right), terms,
           to);
    const Numbers got = read(to, Tile::rows * Tile::columns);
    Errors of_cores, of_chain;
    for (unsigned column = 0; column < Tile::columns; ++column) {
      for (unsigned row = 0; row < Tile::rows; ++row) {
        double sum = 0, scale = 0;
        float chain = 0;
        for (unsigned k = 0; k < terms; ++k) {
          const float a = left[k * Tile::left_stride + row];
          const float b = right[k * Tile::right_stride + column];
          sum += double{a} * b;
          scale += std::abs(double{a} * b);
          chain = std::fma(a, b, chain);
        }
        const auto note = [&](Errors& errors, float result) {
          const double error = (result - sum) / scale;
          errors.largest = std::max(errors.largest, std::abs(error));
          errors.mean += error / (Tile::rows * Tile::columns);
        };
        note(of_cores, got[column * Tile::rows + row]);
        note(of_chain, chain);
      }
    }
    return {of_cores, of_chain};
  }
};

TEST_F(TensorSumsTest, AreAsExactAsChains) {
  constexpr double kBit = std::numeric_limits<float>::epsilon();
  for (const unsigned terms : {64, 512, 4096}) {
    for (const double least : {-1.0, 0.0}) {
      const auto [cores, chain] = errors(terms, least);
      RecordProperty(
          "errors_" + std::to_string(terms) + (least < 0 ? "_signed" : "_positive"),
          std::to_string(cores.largest / kBit) + " and " + std::to_string(chain.largest / kBit));
      EXPECT_LE(cores.largest, chain.largest + 2 * kBit) << terms << " terms from " << least;
      EXPECT_LE(std::abs(cores.mean), kBit) << terms << " terms from " << least;
    }
  }
}

}  // namespace
}  // namespace dynet_like::detail::cuda
