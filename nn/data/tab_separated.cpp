// Reads rows one at a time. Names in the header are turned into numbers once.
#include "nn/data/tab_separated.h"

#include <algorithm>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/nearest_names.h"

namespace dynet_like::nn {

namespace {

/// The chosen columns, line by line.
class Rows {
 public:
  Rows(TextSource source, const std::vector<Column>& columns, const TabSeparatedOptions& options)
      : columns_(columns),
        is_ragged_(options.ragged),
        skipped_lines_(options.skipped_lines),
        lines_(std::move(source), options.limits) {
    if (columns.empty()) throw UsageError("[tab-separated] need a column; got none");
    has_header_ = options.has_header ||
                  std::any_of(columns.begin(), columns.end(), [](auto& c) { return c.has_name(); });
    if (has_header_ && next_line()) places_ = find_columns();
  }

  /// Calls use() for each line, whose columns row() and label() have. Throws FileError for a line
  /// that use() refuses, too, unless it is to be skipped.
  template <class Use>
  void for_each(const Use& use) {
    while (next_line()) {
      try {
        split();
        use();
        ++count_;
      } catch (const FileError&) {
        if (skipped_lines_ == nullptr) throw;
        ++*skipped_lines_;
      }
    }
    check();
  }

  /// The chosen columns of the current line.
  const std::vector<std::string_view>& row() const { return row_; }

  /// The i-th chosen column of the current line, which must not be empty.
  std::string_view label(std::size_t i) const {
    if (row_[i].empty()) line().fail("need a label; got nothing", row_[i]);
    return row_[i];
  }

 private:
  TextLine line() const { return {text_, lines_.name(), lines_.number()}; }

  void split() {
    if (places_.empty()) places_ = find_columns();
    const std::vector<std::string_view> all =
        is_ragged_ ? line().columns() : line().columns(column_count_);
    column_count_ = std::max(column_count_, all.size());
    row_.clear();
    for (const std::size_t place : places_) {
      row_.push_back(place < all.size() ? all[place] : text_.substr(text_.size()));
    }
  }

  void check() const {
    if (count_ == 0) throw FileError(lines_.name(), "need at least one line of columns; got none");
    const std::size_t last = *std::max_element(places_.begin(), places_.end());
    if (last < column_count_) return;
    throw FileError(lines_.name(), "need a column with number " + std::to_string(last) +
                                       ", counted from 0, in some line; got at most " +
                                       detail::counted(column_count_, "column"));
  }

  bool next_line() {
    const auto line = lines_.next_filled();
    if (line) text_ = line->text;
    return line.has_value();
  }

  /// Finds the columns in the first line, which may be a header.
  std::vector<std::size_t> find_columns() {
    const std::vector<std::string_view> all = line().columns();
    column_count_ = all.size();
    std::vector<std::size_t> places;
    for (const Column& column : columns_) {
      places.push_back(column.has_name() ? find(column.name(), all) : column.number());
      if (places.back() >= all.size() && !(is_ragged_ && !has_header_)) {
        line().fail("need a column with number " + std::to_string(column.number()) +
                    ", counted from 0; got " + detail::counted(all.size(), "column"));
      }
    }
    return places;
  }

  std::size_t find(const std::string& name, const std::vector<std::string_view>& all) const {
    const auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end() || std::find(found + 1, all.end(), name) != all.end()) {
      line().fail(
          "need one column that is named " + detail::quoted_text(name) + "; got " +
          (found == all.end() ? "none" + detail::nearest_names_text(name, all) : "several"));
    }
    return static_cast<std::size_t>(found - all.begin());
  }

  const std::vector<Column>& columns_;
  const bool is_ragged_;
  std::uint64_t* const skipped_lines_;
  bool has_header_ = false;
  LineReader lines_;
  std::string_view text_;
  std::size_t column_count_ = 0, count_ = 0;
  std::vector<std::size_t> places_;
  std::vector<std::string_view> row_;
};

}  // namespace

void Column::throw_no_name() const {
  throw UsageError("[tab-separated] need a column with a name; got number " +
                   std::to_string(number_));
}

std::vector<std::vector<std::string>> read_tab_separated(TextSource source,
                                                         const std::vector<Column>& columns,
                                                         const TabSeparatedOptions& options) {
  Rows rows(std::move(source), columns, options);
  std::vector<std::vector<std::string>> result;
  rows.for_each([&] { result.emplace_back(rows.row().begin(), rows.row().end()); });
  return result;
}

std::vector<LabelledText> read_labelled_texts(TextSource source, const LabelledTextColumns& columns,
                                              const TabSeparatedOptions& options) {
  const std::vector<Column> chosen = {columns.label, columns.text};
  Rows rows(std::move(source), chosen, options);
  std::vector<LabelledText> texts;
  rows.for_each([&] { texts.push_back({std::string(rows.label(0)), std::string(rows.row()[1])}); });
  return texts;
}

std::vector<TextPair> read_text_pairs(TextSource source, const TextPairColumns& columns,
                                      const TabSeparatedOptions& options) {
  std::vector<Column> chosen = {columns.first, columns.second};
  if (columns.label) chosen.push_back(*columns.label);
  Rows rows(std::move(source), chosen, options);
  std::vector<TextPair> pairs;
  rows.for_each([&] {
    const std::string_view label = columns.label ? rows.label(2) : "";
    pairs.push_back({std::string(rows.row()[0]), std::string(rows.row()[1]), std::string(label)});
  });
  return pairs;
}

}  // namespace dynet_like::nn
