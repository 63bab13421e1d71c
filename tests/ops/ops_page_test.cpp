// docs/ops.md: the reference of all ops, made of the op table, of the cases that tests call it
// with, and of the calls in this folder. DYNET_LIKE_UPDATE_PAGES=1 writes it anew.
#include <cstdlib>
#include <regex>

#include "dynet_like/ops/families.h"
#include "tests/ops/cases.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/source_text.h"

namespace dynet_like::ops {

using List = std::span<const Op* const>;
#define DECLARE(family) List family##_ops();
DYNET_LIKE_OP_FAMILIES(DECLARE)
#undef DECLARE

}  // namespace dynet_like::ops

namespace dynet_like::op_cases {
namespace {

namespace fs = std::filesystem;

// "return f(g.a);" as a user writes it: "f(x)".
std::string as_users_write(std::string code) {
  const std::pair<const char*, const char*> changes[] = {
      {R"(\s+)", " "},
      {R"(parameter\(g\.graph, g\.weights\))", "W"},
      {R"(g\.graph)", "graph"},
      {R"(g\.table)", "table"},
      {R"(g\.weights)", "W"},
      {R"(g\.a)", "x"},
      {R"(g\.both)", "{x, y}"},
      {R"(g\.rows)", "{2, 0}"},
      {R"(g\.lengths)", "{1, 3}"},
      {R"(g\.b)", "y"},
      {R"(^ ?(return )?)", ""},
      {R"(; return )", "; "},
      {R"(; ?$)", ""}};
  for (const auto& [from, to] : changes) code = std::regex_replace(code, std::regex(from), to);
  return code;
}

// The calls that the tests of the table make, by op.
std::map<std::string, std::string> calls_of(const fs::path& folder) {
  std::map<std::string, std::string> calls = {
      {"parameter", "parameter(graph, W)"},
      {"binary_log_loss", "binary_log_loss(x, y)"},
      {"logit_loss", "binary_cross_entropy_with_logits(x, y)"},
      {"divergence_term", "kl_divergence(x, y)"},
      {"keep_where", "where(condition, x, y)"},
      {"drop_where", "where(condition, x, y)"}};
  for (const char* file : {"table_test.cpp", "plain_formulas.h"}) {
    std::string name;
    const std::string text = source_text(folder / file);
    const std::regex part(R"re(\{"([a-z_]+)",|\[\]\(G g\) \{([^\[]*?;) \}|)re"
                          R"re(\[\]\(G g\) \{([^]*?;)\s*\}\},)re");
    for (std::sregex_iterator each(text.begin(), text.end(), part), end; each != end; ++each) {
      if ((*each)[1].matched) name = (*each)[1];
      const std::string code = (*each)[2].matched ? (*each)[2] : (*each)[3];
      if (!code.empty()) calls.emplace(name, as_users_write(code));
    }
    const std::regex short_form(R"(OF_(ONE|TWO)\(([a-z_]+)\),)");
    for (std::sregex_iterator each(text.begin(), text.end(), short_form), end; each != end;
         ++each) {
      calls.emplace((*each)[2], each->str(2) + (each->str(1) == "ONE" ? "(x)" : "(x, y)"));
    }
  }
  return calls;
}

// Of the first case with the most dimensions that is no single number.
std::string shapes_of(const Op& op) {
  const std::vector<OpCase> cases = good_cases(op);
  if (cases.empty() || cases[0].inputs.empty()) return "";
  const auto dimensions = [](const OpCase& each) {
    unsigned most = 0;
    for (const Dim& dim : each.inputs) most = std::max(most, dim.nd);
    return std::pair{most, each.inputs[0].size() > 1};
  };
  const OpCase& most = *std::ranges::max_element(cases, {}, dimensions);
  const Signature type = signature_of({&op, most, ""}, DType::f32);
  std::ostringstream shapes;
  for (const Dim& dim : type.inputs) shapes << dim << ' ';
  shapes << "-> " << type.output;
  return " Shapes: `" + shapes.str() + "`.";
}

std::string gradient_of(const Op& op) {
  if (op.max_inputs == 0) return "";
  if (!op.gradient.is_derivative) return " Gradient: as the formula says, not the derivative.";
  switch (op.gradient.needs) {
    case Needs::nothing:
      return " Gradient: of dy alone.";
    case Needs::inputs:
      return " Gradient: of dy and inputs.";
    case Needs::output:
      return " Gradient: of dy and output.";
    case Needs::inputs_and_output:
      return " Gradient: of dy, inputs and output.";
  }
  return "";
}

// Text of a comment, whose characters mean nothing else on a page.
std::string as_words(const std::string& text) {
  std::string words;
  bool is_code = false;
  for (const char c : text) {
    is_code ^= c == '`';
    if (!is_code && std::string_view("*_<|").find(c) != std::string_view::npos) words += '\\';
    words += c;
  }
  return words;
}

// The functions that a header declares, below the headings of the header: names and comments.
std::string functions_of(const fs::path& header) {
  static const std::regex heading("// -+ (.*)"), comment("/// (.*)"),
      declaration(R"((?:Expression&?|CellState) (\w+|operator\S+?)\(.*)");
  std::istringstream in(source_text(header));
  std::string all, names, words;
  const auto end_of_group = [&] {
    if (!names.empty()) all += "- " + names + (words.empty() ? "" : ": " + as_words(words)) + '\n';
    names = words = "";
  };
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, match, heading)) {
      end_of_group();
      const std::string title = match[1];
      all += "\n### " + std::string(1, static_cast<char>(std::toupper(title[0]))) +
             title.substr(1) + "\n\n";
    } else if (std::regex_match(line, match, comment)) {
      if (!names.empty()) end_of_group();
      words += (words.empty() ? "" : " ") + match.str(1);
    } else if (std::regex_match(line, match, declaration)) {
      const std::string name = '`' + match.str(1) + '`';
      if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
    } else if (line.empty()) {
      end_of_group();
    }
  }
  end_of_group();
  return all;
}

std::string page(const fs::path& root) {
  const std::map<std::string, std::string> calls = calls_of(root / "tests/ops");
  std::vector<std::pair<std::string, ops::List>> families = {
#define NAME(family) {#family, ops::family##_ops()},
      DYNET_LIKE_OP_FAMILIES(NAME)
#undef NAME
  };
  std::size_t listed = 0;
  for (const auto& [family, list] : families) listed += list.size();
  families.push_back({"elementwise", all_ops().subspan(listed)});
  std::ostringstream out;
  out << "# Operations\n\n"
         "<!-- Written by DYNET_LIKE_UPDATE_PAGES=1 ops_tests --gtest_filter='OpsPageTest*' -->\n\n"
         "This page lists the operations that graphs record, with the names that `explain()` "
         "prints, and then [all functions](#all-functions), some of which are made of several "
         "operations.\nAll operations but inputs and parameters have kernels for CPUs and for "
         "GPUs.\n\n"
         "x and y are expressions, W is a parameter. Each line has the formula, a call, the shapes "
         "of one case, and what the backward pass reads\nbesides the gradient dy of the output: "
         "only these values stay in memory.\n";
  for (const auto& [family, list] : families) {
    std::string heading = family;
    std::ranges::replace(heading, '_', ' ');
    heading[0] = static_cast<char>(std::toupper(heading[0]));
    out << "\n## " << heading << "\n\n";
    for (const Op* op : list) {
      const auto call = calls.find(std::string(op->name));
      out << "- **`" << op->name << "`**: `" << op->formula << "`";
      if (call != calls.end()) out << "<br>`" << call->second << "`.";
      out << shapes_of(*op) << gradient_of(*op) << '\n';
    }
  }
  const fs::path headers = root / "dynet_like/ops";
  out << "\n## All functions\n\nThe overloads are in [`ops.h`](../dynet_like/ops/ops.h) and, for "
         "chains, in [`chains.h`](../dynet_like/ops/chains.h).\n"
      << functions_of(headers / "ops.h") << "\n### Chains\n\n"
      << functions_of(headers / "chains.h");
  return out.str();
}

TEST(OpsPageTest, IsThatOfTheTable) {
  const char* const root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  ASSERT_NE(root, nullptr);
  const fs::path file = fs::path(root) / "docs/ops.md";
  const std::string now = page(root);
  if (std::getenv("DYNET_LIKE_UPDATE_PAGES") != nullptr) std::ofstream(file) << now;
  EXPECT_TRUE(source_text(file) == now)
      << "run DYNET_LIKE_UPDATE_PAGES=1 ops_tests --gtest_filter='OpsPageTest*'";
}

// Each public function is on the page, by its name.
TEST(OpsPageTest, HasEveryPublicFunction) {
  const fs::path root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  const std::string now = page(root);
  std::size_t functions = 0;
  for (const char* header : {"ops.h", "chains.h"}) {
    const std::string text = source_text(root / "dynet_like/ops" / header);
    const std::regex name(R"(\n[A-Z][\w&:]* (\w+)\()");
    for (std::sregex_iterator each(text.begin(), text.end(), name), end; each != end; ++each) {
      EXPECT_TRUE(mentions(now, '`' + (*each)[1].str() + '`')) << (*each)[1];
      ++functions;
    }
  }
  EXPECT_GT(functions, 200u);
}

// Each op has a call on the page.
TEST(OpsPageTest, EveryOpHasACall) {
  const auto calls = calls_of(fs::path(std::getenv("DYNET_LIKE_SOURCE_DIR")) / "tests/ops");
  for (const Op* op : all_ops()) EXPECT_TRUE(calls.contains(std::string(op->name))) << op->name;
}

}  // namespace
}  // namespace dynet_like::op_cases
