// Random programs for tests: recursions, cells and plain operations that read each other's values.
// Pure functions of a seed.
#pragma once

#include <array>
#include <memory>
#include <random>
#include <vector>

#include "tests/support/modes.h"

namespace dynet_like::testing {

using Dice = std::mt19937_64;
inline unsigned roll(Dice& dice, unsigned sides) { return static_cast<unsigned>(dice() % sides); }

struct RandomParameters {
  static constexpr unsigned kSize = 6, kWords = 9;

  explicit RandomParameters(DType dtype);

  ParameterCollection collection;
  LookupParameter words;
  std::vector<Parameter> square, bias;
  Parameter twos, threes;
};

/// Vertices with some predecessors each, in order, in reverse or in any order.
struct RandomStructure {
  RandomStructure(std::uint64_t seed, bool with_equal_predecessors);

  unsigned words = 0;  ///< columns
  std::vector<Structure::Vertex> vertices;
};

/// How the functions of vertices are called: as operations of their own, as cells, or along
/// recursions, beside which there are cells.
enum class Form { operations, cells, recursions };

/// Two recursions and a cell, whose functions make new values of those that there are, each of
/// which is read in shapes that differ from reader to reader: some by halves, some in one half
/// alone.
class RandomProgram {
 public:
  /// `exact`: all forms have the same bits, since states share no elements and are read one by one,
  /// and each matrix is read by one recursion.
  RandomProgram(const RandomParameters& parameters, std::uint64_t seed, bool exact = false);
  ~RandomProgram();
  RandomProgram(const RandomProgram&) = delete;
  RandomProgram& operator=(const RandomProgram&) = delete;

  bool draws() const;
  bool derives() const;
  /// Samples do the same along structures of their own.
  Program program(Form form = Form::recursions, unsigned samples = 4) const;

 private:
  class Recorder;
  struct Functions;
  std::unique_ptr<Functions> functions_;
};

}  // namespace dynet_like::testing
