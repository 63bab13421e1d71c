// LearningCurve: its columns, and comma-separated values.
#include "nn/train/learning_curve.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/atomic_file.h"

namespace dynet_like::nn {

namespace {

constexpr std::string_view kEpoch = "epoch";

std::string quoted_field(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

/// Reads comma-separated values record by record.
class Csv {
 public:
  Csv(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  bool at_end() const { return rest_.empty(); }

  std::vector<std::string> record() {
    line_ = next_line_;
    std::vector<std::string> fields = {field()};
    while (take(',')) fields.push_back(field());
    take('\r');
    if (!take('\n') && !rest_.empty()) fail("a comma or the end of the line", rest_);
    return fields;
  }

  [[noreturn]] void fail(const std::string& need, std::string_view got) const {
    throw FileError(file_, fmt::format("need {}; got {}", need, detail::quoted_text(got)), line_);
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    next_line_ += c == '\n' ? 1 : 0;
    rest_.remove_prefix(1);
    return true;
  }

  std::string field() {
    if (!take('"')) {
      const std::string_view plain = rest_.substr(0, rest_.find_first_of(",\r\n"));
      rest_.remove_prefix(plain.size());
      return std::string(plain);
    }
    std::string field;
    while (!rest_.empty()) {
      const char c = rest_.front();
      take(c);
      if (c == '"' && !take('"')) return field;
      field += c;
    }
    fail("a quote that ends the field", rest_);
  }

  std::string_view rest_;
  const std::string& file_;
  std::size_t line_ = 1, next_line_ = 1;  // of this record, and of the next
};

std::optional<double> number_in(const Csv& csv, const std::string& field) {
  if (field.empty()) return {};
  double number = 0;
  const char* const end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) {
    csv.fail("a finite number or nothing", field);
  }
  return number;
}

}  // namespace

std::size_t LearningCurve::column(const std::string& name) const {
  return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
}

void LearningCurve::add(const std::map<std::string, double>& values) {
  LearningCurve next = *this;  // a copy: an exception leaves this unchanged
  for (const auto& [name, value] : values) {
    if (name == kEpoch)
      throw UsageError("[LearningCurve] need a column other than \"epoch\"; got it");
    const std::size_t place = next.column(name);
    if (place == next.names_.size()) {
      next.names_.push_back(name);
      next.values_.emplace_back(epochs_);
    }
    next.values_[place].push_back(std::isfinite(value) ? std::optional(value) : std::nullopt);
  }
  ++next.epochs_;
  for (auto& column : next.values_) column.resize(next.epochs_);
  *this = std::move(next);
}

std::optional<double> LearningCurve::value(const std::string& column, std::size_t epoch) const {
  const std::size_t place = this->column(column);
  if (place == names_.size()) {
    const std::vector<std::string_view> names(names_.begin(), names_.end());
    throw UsageError("[LearningCurve] need a column of the table; got " +
                     detail::quoted_text(column) + detail::nearest_names_text(column, names));
  }
  if (epoch == 0 || epoch > epochs_) {
    throw UsageError(
        fmt::format("[LearningCurve] need an epoch from 1 to {}; got {}", epochs_, epoch));
  }
  return values_[place][epoch - 1];
}

std::string LearningCurve::to_csv() const {
  std::string text(kEpoch);
  for (const std::string& name : names_) text += ',' + quoted_field(name);
  text += '\n';
  for (std::size_t epoch = 0; epoch < epochs_; ++epoch) {
    text += fmt::to_string(epoch + 1);
    for (const auto& column : values_) {
      text += ',' + (column[epoch] ? fmt::to_string(*column[epoch]) : "");
    }
    text += '\n';
  }
  return text;
}

LearningCurve LearningCurve::from_csv(std::string_view text, const std::string& file) {
  Csv csv(text, file);
  std::vector<std::string> names = csv.record();
  if (names.front() != kEpoch) csv.fail("a first column \"epoch\"", names.front());
  const std::set<std::string> different(names.begin(), names.end());
  if (different.size() < names.size()) csv.fail("different columns", names.back());
  LearningCurve curve;
  curve.names_.assign(names.begin() + 1, names.end());
  curve.values_.resize(curve.names_.size());
  while (!csv.at_end()) {
    const std::vector<std::string> fields = csv.record();
    if (fields.size() != names.size() || fields.front() != fmt::to_string(curve.epochs_ + 1)) {
      csv.fail(
          fmt::format("{} for epoch {}", detail::counted(names.size(), "field"), curve.epochs_ + 1),
          fields.front());
    }
    for (std::size_t i = 1; i < fields.size(); ++i) {
      curve.values_[i - 1].push_back(number_in(csv, fields[i]));
    }
    ++curve.epochs_;
  }
  return curve;
}

void LearningCurve::write_csv(const std::filesystem::path& path) const {
  detail::write_atomically(path, to_csv());
}

void LearningCurve::write_svg(const std::filesystem::path& path, const std::string& title) const {
  detail::write_atomically(path, to_svg(title));
}

}  // namespace dynet_like::nn
