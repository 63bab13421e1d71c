// Files with tab-separated columns: labelled texts, pairs of texts, or columns of your choice.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nn/data/text_lines.h"
#include "nn/data/text_pairs.h"

namespace dynet_like::nn {

/// A column: its number, from 0, or its name in the first line.
class Column {
 public:
  Column(std::integral auto number) : number_(static_cast<std::uint64_t>(number)) {}
  Column(const char* name) : name_(name) {}
  Column(std::string name) : name_(std::move(name)) {}

  bool has_name() const { return name_.has_value(); }
  std::uint64_t number() const { return number_; }
  /// Throws UsageError for a column that was chosen by number.
  const std::string& name() const {
    if (!name_) throw_no_name();
    return *name_;
  }

 private:
  [[noreturn]] void throw_no_name() const;

  std::uint64_t number_ = 0;
  std::optional<std::string> name_;
};

/// How to read a file. There are no quotes and no escapes: a column is the text between two tabs.
struct TabSeparatedOptions {
  /// Whether the first line has the names of the columns. Implied if a column is chosen by name.
  bool has_header = false;
  /// Whether lines may have more or fewer columns than the first; missing columns are empty.
  bool ragged = false;
  /// If set, malformed lines behind the header are skipped, and their number is added here. If not
  /// set, such files are refused.
  std::uint64_t* skipped_lines = nullptr;
  TextLimits limits = {};
};

/// The chosen columns of every line, in the order chosen. Blank lines are skipped; all others must
/// have as many columns as the first, unless `ragged`. Throws FileError if the file is missing,
/// without lines, too large or malformed, or lacks a column.
std::vector<std::vector<std::string>> read_tab_separated(TextSource source,
                                                         const std::vector<Column>& columns,
                                                         const TabSeparatedOptions& options = {});

/// A text and its class.
struct LabelledText {
  std::string label = {}, text = {};

  bool operator==(const LabelledText&) const = default;
};

struct LabelledTextColumns {
  Column label = 0, text = 1;
};

/// Texts with their classes. Throws as above, and if a label is empty; a text may be empty.
std::vector<LabelledText> read_labelled_texts(TextSource source,
                                              const LabelledTextColumns& columns = {},
                                              const TabSeparatedOptions& options = {});

struct TextPairColumns {
  Column first = 0, second = 1;
  std::optional<Column> label = {};  ///< if not given, the pairs have no labels
};

/// Pairs of texts. Throws as above, and if a label is empty; a text may be empty.
std::vector<TextPair> read_text_pairs(TextSource source, const TextPairColumns& columns = {},
                                      const TabSeparatedOptions& options = {});

}  // namespace dynet_like::nn
