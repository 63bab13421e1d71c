// Labels characters by windows, and builds sentences of them.
#include "nn/pipeline/text_reader.h"

#include <utility>

#include "dynet_like/graph/computation_graph.h"

namespace dynet_like::nn {

namespace {

constexpr std::size_t kWindowsTogether = 64;

}  // namespace

ConlluColumns unknown_columns(std::string form) {
  return {.form = std::move(form),
          .lemma = "_",
          .upos = "_",
          .xpos = "_",
          .feats = "_",
          .deprel = "_",
          .deps = "_",
          .misc = "_"};
}

/// Reads until there are enough windows; returns false at the end of the text.
bool TextReader::read_windows() {
  while (windows_.size() < kWindowsTogether) {
    std::optional<RawUnit> unit = units_.next();
    if (!unit) {
      windows_.end_paragraph();
      return false;
    }
    if (unit->is_border) {
      windows_.end_paragraph();
    } else {
      windows_.add(segmenter_.id(*unit));
    }
    waiting_.push_back(std::move(*unit));
  }
  return true;
}

std::vector<ConlluSentence> TextReader::next(const RunSamples& run) {
  for (bool has_more = true; has_more && complete_.empty();) {
    has_more = read_windows();
    const std::vector<TextWindow> windows = windows_.take();
    std::vector<std::uint32_t> sizes;
    for (const TextWindow& window : windows) {
      sizes.push_back(static_cast<std::uint32_t>(window.characters.size()));
    }
    std::vector<std::vector<CharacterLabel>> labels(windows.size());
    run(sizes, [&](ComputationGraph& graph, std::span<const std::size_t> some) {
      std::vector<Expression> scores;
      for (const std::size_t i : some) scores.push_back(segmenter_.scores(graph, windows[i]));
      const std::vector<Tensor> values = values_of(scores);
      for (std::size_t k = 0; k < some.size(); ++k) labels[some[k]] = best_labels(values[k]);
    });
    const auto add_first = [&](CharacterLabel label) {
      add(waiting_.front(), label);
      waiting_.pop_front();
    };
    const auto add_borders = [&] {
      while (!waiting_.empty() && waiting_.front().is_border) add_first(CharacterLabel::inside);
    };
    for (const auto& of_window : labels) {
      add_borders();
      for (const CharacterLabel label : of_window) add_first(label);
    }
    if (has_more) continue;
    add_borders();
    if (!token_.text.empty()) end_token(false);
    end_sentence();
  }
  return std::exchange(complete_, {});
}

void TextReader::add(const RawUnit& unit, CharacterLabel label) {
  using enum CharacterLabel;
  if (unit.is_space) return add_spaces(unit);
  if (ends_) end_sentence();
  token_.text += unit.bytes;
  token_.form += unit.bytes;
  ++token_.characters;
  if (label == inside && token_.characters < kLongestToken) return;
  end_token(label == multiword || label == multiword_and_sentence);
  const bool ends_sentence = label == sentence || label == multiword_and_sentence;
  ends_ |= ends_sentence && !options_.lines;
}

void TextReader::add_spaces(const RawUnit& spaces) {
  if (!token_.text.empty()) {
    if (segmenter_.spaces() && !spaces.is_border && token_.characters + 1 < kLongestToken) {
      token_.text += spaces.bytes;
      token_.form += ' ';
      ++token_.characters;
      return;
    }
    end_token(false);
  }
  if (sentence_.words.empty()) {
    before_ = spaces.bytes;  // only at the beginning of the text
  } else {
    spaces_.after = spaces.bytes;
    const bool is_multiword =
        !sentence_.multiwords.empty() && sentence_.multiwords.back().last == sentence_.words.size();
    (is_multiword ? sentence_.multiwords.back().columns : sentence_.words.back()).misc =
        misc_of_spaces(spaces_);
  }
  if (!spaces.is_border) return;
  end_sentence();
  begins_paragraph_ |= spaces.has_blank_line();
}

void TextReader::end_token(bool is_multiword) {
  const auto [text, form, characters] = std::exchange(token_, {});
  if (!text_.empty() && !spaces_.after.empty()) text_ += ' ';
  text_ += form;
  spaces_ = {.before = std::exchange(before_, {}), .token = text == form ? "" : text};
  std::vector<std::string> words;
  if (is_multiword) words = multiwords_.split(form);
  if (words.size() < 2) words = {form};
  ConlluColumns columns = unknown_columns(form);
  columns.misc = misc_of_spaces(spaces_);
  const auto first = static_cast<std::uint32_t>(sentence_.words.size()) + 1;
  for (const std::string& word : words) sentence_.words.push_back(unknown_columns(word));
  if (words.size() > 1) {
    const auto last = static_cast<std::uint32_t>(sentence_.words.size());
    sentence_.multiwords.push_back({first, last, std::move(columns)});
  } else {
    sentence_.words.back() = std::move(columns);
  }
  ends_ = sentence_.words.size() >= kLongestSentence;
}

void TextReader::end_sentence() {
  ends_ = false;
  if (sentence_.words.empty()) return;
  std::vector<std::string>& comments = sentence_.comments;
  if (std::exchange(begins_document_, false)) {
    comments.push_back(options_.id.empty() ? "# newdoc" : "# newdoc id = " + options_.id);
  }
  if (std::exchange(begins_paragraph_, false)) comments.push_back("# newpar");
  comments.push_back("# sent_id = " + std::to_string(options_.first_sentence++));
  comments.push_back("# text = " + std::exchange(text_, {}));
  complete_.push_back(std::exchange(sentence_, {}));
}

}  // namespace dynet_like::nn
