// Initialisers: elements are set in order, computed in double and rounded to the parameter's type.
#include "dynet_like/params/initialisers.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet_like {

using namespace detail;

namespace {

void fill_uniform(const Tensor& values, double low, double high, Random& random) {
  for (std::size_t i = 0; i < values.d.size(); ++i) {
    values.set(i, low + (high - low) * random.uniform());
  }
}

double inner_product(std::span<const double> a, std::span<const double> b) {
  return std::transform_reduce(a.begin(), a.end(), b.begin(), 0.0);
}

// Orthonormal vectors, one behind the other: the factor Q of a matrix of normal numbers whose R has
// a positive diagonal, which is Haar-distributed (Mezzadri 2007, "How to generate random matrices
// from the classical compact groups"). Gram-Schmidt runs twice, which leaves only rounding errors.
std::vector<double> random_orthonormal(std::size_t size, std::size_t count, Random& random) {
  std::vector<double> vectors(size * count);
  const auto vector = [&](std::size_t i) { return std::span(vectors).subspan(i * size, size); };
  for (std::size_t i = 0; i < count;) {
    const std::span<double> current = vector(i);
    std::generate(current.begin(), current.end(), [&] { return random.normal(); });
    const double drawn = std::sqrt(inner_product(current, current));
    for (std::size_t j = 0; j < 2 * i; ++j) {
      const std::span<const double> before = vector(j % i);
      const double part = inner_product(before, current);
      for (std::size_t k = 0; k < size; ++k) current[k] -= part * before[k];
    }
    const double left = std::sqrt(inner_product(current, current));
    if (left <= 1e-6 * drawn) continue;  // nearly a combination of the others: draw again
    for (double& x : current) x /= left;
    ++i;
  }
  return vectors;
}

// Reads the words of a text file, and knows their lines.
class Words {
 public:
  explicit Words(const std::string& path) : path_(path) {
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) stream_.open(path, std::ios::binary);
    if (!stream_.is_open()) fail("a file that can be read", "none");
    char beginning[4] = {};
    stream_.read(beginning, sizeof beginning);
    const std::string_view read(beginning, static_cast<std::size_t>(stream_.gcount()));
    stream_.clear();
    stream_.seekg(static_cast<std::streamoff>(byte_order_mark_bytes(read, path_)));
  }

  /// The next word; empty at the end.
  std::string_view next() {
    constexpr std::size_t kLimit = 64;
    std::streambuf& text = *stream_.rdbuf();
    word_.clear();
    for (int c = text.sgetc(); c != std::char_traits<char>::eof(); c = text.snextc()) {
      if (std::string_view(" \t\r\n\f\v").find(static_cast<char>(c)) == std::string_view::npos) {
        word_ += static_cast<char>(c);
        if (word_.size() > kLimit) fail("words of at most 64 bytes", quoted_text(word_));
      } else if (!word_.empty()) {
        break;
      } else if (c == '\n') {
        ++line_;
      }
    }
    return word_;
  }

  [[noreturn]] void fail(const std::string& need, const std::string& got) const {
    throw FileError(path_, "[ParameterInitFromFile] need " + need + "; got " + got, line_);
  }

 private:
  const std::string& path_;
  std::ifstream stream_;
  std::string word_;
  std::size_t line_ = 1;
};

}  // namespace

void ParameterInitNormal::initialize(const Tensor& values, Random& random) const {
  const double deviation = std::sqrt(static_cast<double>(variance_));
  for (std::size_t i = 0; i < values.d.size(); ++i) {
    values.set(i, static_cast<double>(mean_) + deviation * random.normal());
  }
}

void ParameterInitUniform::initialize(const Tensor& values, Random& random) const {
  fill_uniform(values, low_, high_, random);
}

void ParameterInitConst::initialize(const Tensor& values, Random&) const {
  for (std::size_t i = 0; i < values.d.size(); ++i) values.set(i, static_cast<double>(value_));
}

void ParameterInitGlorot::initialize(const Tensor& values, Random& random) const {
  const unsigned dimensions = values.d.nd - (is_lookup_ ? 1 : 0);
  double sum = 0;
  for (unsigned i = 0; i < dimensions; ++i) sum += values.d.d[i];
  const double scale = static_cast<double>(gain_) * std::sqrt(3.0 * dimensions / sum);
  fill_uniform(values, -scale, scale, random);
}

void ParameterInitIdentity::initialize(const Tensor& values, Random&) const {
  if (values.d.nd != 2 || values.d.rows() != values.d.cols()) {
    throw ShapeError("[ParameterInitIdentity] need a square matrix; got " + to_string(values.d));
  }
  const std::size_t rows = values.d.rows();
  for (std::size_t i = 0; i < values.d.size(); ++i) values.set(i, i % (rows + 1) == 0 ? 1.0 : 0.0);
}

void ParameterInitSaxe::initialize(const Tensor& values, Random& random) const {
  if (values.d.nd != 2) {
    throw ShapeError("[ParameterInitSaxe] need a matrix; got " + to_string(values.d));
  }
  const std::size_t rows = values.d.rows(), columns = values.d.cols();
  const std::size_t size = std::max(rows, columns);
  const std::vector<double> q = random_orthonormal(size, std::min(rows, columns), random);
  for (std::size_t i = 0; i < q.size(); ++i) {
    const std::size_t place = rows >= columns ? i : i % size * rows + i / size;
    values.set(place, static_cast<double>(gain_) * q[i]);
  }
}

void ParameterInitFromFile::initialize(const Tensor& values, Random&) const {
  const std::string need =
      detail::counted(values.d.size(), "number") + " for " + to_string(values.d);
  Words words(path_);
  std::vector<float> numbers;
  for (std::string_view word; !(word = words.next()).empty();) {
    const std::optional<float> number = parse_float(word);
    if (!number) words.fail("a number", quoted_text(word));
    if (numbers.size() == values.d.size()) words.fail(need, "more");
    numbers.push_back(*number);
  }
  if (numbers.size() < values.d.size()) words.fail(need, std::to_string(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    values.set(i, static_cast<double>(numbers[i]));
  }
}

void ParameterInitFromVector::initialize(const Tensor& values, Random&) const {
  if (values_.size() != values.d.size()) {
    throw ShapeError("[ParameterInitFromVector] need " + counted(values.d.size(), "value") +
                     " for " + to_string(values.d) + "; got " + std::to_string(values_.size()));
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values.set(i, static_cast<double>(values_[i]));
  }
}

}  // namespace dynet_like
