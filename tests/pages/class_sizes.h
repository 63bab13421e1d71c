// How many functions and data members classes have, read from their text.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dynet_like::class_sizes {

struct ClassSize {
  std::string name;
  std::size_t functions = 0, members = 0;
  bool is_record = true;  ///< nothing is private, and no function changes it
};

/// The words and signs of a text of C++, without comments and preprocessor directives; literals are
/// "0".
inline std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool begins_line = true;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  const auto skip_to = [&](std::string_view end) {
    const std::size_t place = text.find(end);
    text.remove_prefix(place == text.npos ? text.size() : place + end.size());
  };
  const auto skip_literal = [&](char quote) {
    std::size_t end = 1;
    while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
    text.remove_prefix(end < text.size() ? end + 1 : text.size());
    words.push_back("0");
  };
  while (!text.empty()) {
    const char c = text.front();
    if (c == '\n') begins_line = true;
    if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      skip_to("*/");
    } else if (c == '#' && begins_line) {
      std::size_t end = text.find('\n');
      while (end != text.npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
      text.remove_prefix(std::min(end, text.size()));
    } else if (text.starts_with("R\"")) {
      skip_to(")" + std::string(text.substr(2, text.find('(') - 2)) + "\"");
      words.push_back("0");
    } else if (c == '"' || c == '\'') {
      skip_literal(c);
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      text.remove_prefix(1);
      continue;
    } else {
      const bool is_number = std::isdigit(static_cast<unsigned char>(c));
      std::size_t size = 0;
      while (size < text.size() && (is_word(text[size]) || (is_number && text[size] == '\'')))
        ++size;
      if (size == 0) size = text.starts_with("::") || text.starts_with("->") ? 2 : 1;
      words.emplace_back(is_number ? "0" : text.substr(0, size));
      text.remove_prefix(size);
    }
    begins_line = c == '\n';
  }
  return words;
}

/// Reads the bodies of classes.
class Reader {
 public:
  explicit Reader(std::string_view text) : words_(words_of(text)) {}

  std::vector<ClassSize> all() {
    std::vector<ClassSize> sizes;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::string name;
      const std::size_t body = body_of_class(i, &name);
      if (body > 0 && !name.empty()) sizes.push_back(size_of(name, body));
    }
    return sizes;
  }

 private:
  const std::string& at(std::size_t i) const {
    static const std::string kEnd;
    return i < words_.size() ? words_[i] : kEnd;
  }

  static bool is_name(const std::string& word) {
    return !word.empty() && (std::isalpha(static_cast<unsigned char>(word[0])) || word[0] == '_');
  }

  /// Behind the bracket that closes the one at `first`; behind this word if it opens nothing, such
  /// as a sign of comparison.
  std::size_t behind(const std::size_t first) const {
    static const std::map<std::string, std::string> pairs = {
        {"(", ")"}, {"{", "}"}, {"[", "]"}, {"<", ">"}};
    if (!pairs.contains(at(first))) return first + 1;
    const std::string &open = at(first), &close = pairs.at(open);
    std::size_t depth = 0;
    for (std::size_t i = first; i < words_.size(); ++i) {
      if (open == "<" && (at(i) == "(" || at(i) == "{")) i = behind(i);
      if (open == "<" && at(i) == ";") return first + 1;
      if (at(i) == open) ++depth;
      if (at(i) == close && --depth == 0) return i + 1;
    }
    return words_.size();
  }

  /// The place of the brace, if a class with a body begins at i; else 0.
  std::size_t body_of_class(std::size_t i, std::string* name) const {
    static const std::set<std::string> kinds = {"class", "struct", "union"};
    if (!kinds.contains(at(i)) || (i > 0 && at(i - 1) == "enum")) return 0;
    for (++i; at(i) == "alignas" || at(i) == "["; i = behind(i)) {
      if (at(i) == "alignas") ++i;
    }
    name->clear();
    for (; (is_name(at(i)) && at(i) != "final") || at(i) == "::"; ++i) *name += at(i);
    if (at(i) == "<") i = behind(i);
    if (at(i) == "final") ++i;
    if (at(i) == ":") {
      while (i < words_.size() && at(i) != "{" && at(i) != ";")
        i = at(i) == "<" ? behind(i) : i + 1;
    }
    return at(i) == "{" ? i : 0;
  }

  ClassSize size_of(const std::string& name, std::size_t body) {
    ClassSize size{name};
    const std::size_t end = behind(body) - 1;
    for (std::size_t i = body + 1; i < end;) i = read_member(i, size);
    return size;
  }

  /// Behind the declaration at i.
  std::size_t read_member(std::size_t i, ClassSize& size) {
    static const std::set<std::string> access = {"public", "protected", "private"};
    static const std::set<std::string> others = {"using", "typedef", "friend", "static_assert"};
    if (at(i) == ";") return i + 1;
    if (access.contains(at(i)) && at(i + 1) == ":") {
      size.is_record &= at(i) == "public";
      return i + 2;
    }
    if (at(i) == "template") return read_member(behind(i + 1), size);
    if (at(i) == "requires" && at(i + 1) == "(") return read_member(behind(i + 1), size);
    if (others.contains(at(i))) return skip_statement(i);
    std::string name;
    const std::size_t body = body_of_class(i, &name);
    if (body > 0 || at(i) == "enum") {
      while (at(i) != "{" && at(i) != ";") ++i;
      if (body > 0) i = body;
      if (at(i) == "{") i = behind(i);
      const bool is_member = at(i) != ";" || (body > 0 && name.empty());
      return is_member ? read_data(i, size) : i + 1;
    }
    if ((at(i) == "class" || at(i) == "struct") && at(i + 2) == ";") return i + 3;
    return read_declaration(i, size);
  }

  /// Behind a semicolon or a body.
  std::size_t skip_statement(std::size_t i) const {
    while (i < words_.size() && at(i) != ";" && at(i) != "{") i = at(i) == "(" ? behind(i) : i + 1;
    if (at(i) != "{") return i + 1;
    i = behind(i);
    return at(i) == ";" ? i + 1 : i;
  }

  /// Of a function or of data: what comes first tells which.
  std::size_t read_declaration(std::size_t first, ClassSize& size) {
    bool is_constant = false, is_static = false;
    for (std::size_t i = first; i < words_.size();) {
      const std::string& word = at(i);
      is_constant |= word == "constexpr";
      is_static |= word == "static";
      if (word == "operator") {
        do {
          ++i;
        } while (i < words_.size() && (at(i) != "(" || (at(i + 1) == ")" && at(i + 2) == "(")));
        return read_function(i, is_static, size);
      }
      if (word == "alignas" || word == "decltype") {
        i = behind(i + 1);
      } else if (word == "<" || word == "[") {
        i = behind(i);
      } else if (word == "(") {
        if (at(i + 1) == "*") return read_data(i, size);
        return read_function(i, is_static, size);
      } else if (word == ";" || word == "=" || word == "{" || word == "," || word == ":") {
        ClassSize no_members;
        return read_data(i, is_constant ? no_members : size);
      } else {
        ++i;
      }
    }
    return words_.size();
  }

  /// From the name of the first member on, or from what follows it.
  std::size_t read_data(std::size_t i, ClassSize& size) {
    ++size.members;
    while (i < words_.size() && at(i) != ";") {
      if (at(i) == ",") ++size.members;
      const bool opens =
          at(i) == "(" || at(i) == "{" || at(i) == "[" || (at(i) == "<" && is_name(at(i - 1)));
      i = opens ? behind(i) : i + 1;
    }
    return i + 1;
  }

  /// From its parameters on.
  std::size_t read_function(std::size_t i, bool is_static, ClassSize& size) {
    ++size.functions;
    bool changes_nothing = is_static;
    for (i = behind(i); i < words_.size() && at(i) != ";" && at(i) != "{"; ++i) {
      changes_nothing |= at(i) == "const";
      if (at(i) == "(") i = behind(i) - 1;
      if (at(i) == ":") {
        i = behind_initialisers(i);
        break;
      }
    }
    size.is_record &= changes_nothing;
    if (at(i) == "{") i = behind(i);
    return at(i) == ";" ? i + 1 : i;
  }

  /// At the body of a constructor, from the colon on.
  std::size_t behind_initialisers(std::size_t i) const {
    do {
      for (++i; is_name(at(i)) || at(i) == "::" || at(i) == "<";)
        i = at(i) == "<" ? behind(i) : i + 1;
      i = behind(i);
      while (at(i) == ".") ++i;
    } while (at(i) == ",");
    return i;
  }

  std::vector<std::string> words_;
};

/// Of all classes with a name and a body, functions that are only declared and constructors
/// included; what nested classes have is theirs, and constants are no members.
inline std::vector<ClassSize> sizes_of_classes(std::string_view text) { return Reader(text).all(); }

}  // namespace dynet_like::class_sizes
