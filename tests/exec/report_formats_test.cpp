// A report as JSON and as a page.
#include <nlohmann/json.hpp>

#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Json = nlohmann::json;

Report of_sentences(const std::string& label, bool measure_time = false) {
  Minibatch batch({.measure_time = measure_time});
  for (unsigned n = 5; n <= 9; ++n) {
    const Expression x = input(batch.new_graph(), {n}, std::vector<float>(n, 1));
    const Expression scores = softmax(x);
    scores.label(label);
    batch.add_output(scores);
  }
  batch.forward();
  return batch.explain();
}

Report of_all_parts() {
  Report report;
  report.types.push_back(
      {"tanh", "{2} -> {2}", 1, 2, 3, 4, 5, 6, true, 0.5, "%0 = tanh(column 0)\n"});
  report.missed_merges.push_back({"softmax",
                                  "scores",
                                  "length",
                                  "input 0 is {1} or {2}",
                                  {"a.cpp:1", "b.cpp:2"},
                                  "pad",
                                  2,
                                  9,
                                  8,
                                  7,
                                  6,
                                  0.25,
                                  0.125});
  report.waves = {{1, 2, 3}, {4, 5, 6}};
  report.wave_count = 2;
  report.nodes = 11, report.batches = 12, report.kernel_calls = 13, report.bound = 14;
  report.recomputed = 15, report.copied_bytes = 17, report.value_bytes = 18;
  report.gradient_bytes = 19, report.peak_bytes = 20, report.product_flops = 21;
  report.plan_seconds = 22, report.kernel_seconds = 23, report.other_seconds = 24;
  return report;
}

TEST(ReportJsonTest, HasAllMembers) {
  const Json expected = Json::parse(R"({
    "types": [{"op": "tanh", "shapes": "{2} -> {2}", "nodes": 1, "batches": 2, "forward_calls": 3,
               "backward_calls": 4, "bound": 5, "value_bytes": 6, "runs_on_cpu": true,
               "seconds": 0.5, "program": "%0 = tanh(column 0)\n"}],
    "missed_merges": [{"op": "softmax", "label": "scores", "field": "length",
                       "difference": "input 0 is {1} or {2}", "places": ["a.cpp:1", "b.cpp:2"],
                       "advice": "pad", "types": 2, "nodes": 9, "batches": 8, "saved_batches": 7,
                       "saved_calls": 6, "seconds": 0.25, "saved_seconds": 0.125}],
    "waves": [{"samples": 1, "nodes": 2, "batches": 3}, {"samples": 4, "nodes": 5, "batches": 6}],
    "wave_count": 2, "nodes": 11, "batches": 12, "kernel_calls": 13, "bound": 14,
    "recomputed": 15, "copied_bytes": 17, "value_bytes": 18, "gradient_bytes": 19, "peak_bytes": 20, "product_flops": 21.0,
    "plan_seconds": 22.0, "kernel_seconds": 23.0, "other_seconds": 24.0})");
  EXPECT_EQ(Json::parse(of_all_parts().json()), expected);
  EXPECT_TRUE(Json::parse(Report().json())["types"].empty());
}

TEST(ReportJsonTest, HasTheLabelsOfUsers) {
  const std::string label = "\"quoted\" \\ \n </script> \xc3\xa4";
  const Json report = Json::parse(of_sentences(label).json());
  EXPECT_EQ(report["missed_merges"][0]["label"], "\"quoted\" \\ \\x0A </script> \xc3\xa4");
  EXPECT_EQ(report["missed_merges"][0]["field"], "length");
  // What is not UTF-8 is shown.
  const Json broken = Json::parse(of_sentences("a\xff").json());
  EXPECT_EQ(broken["missed_merges"][0]["label"], "a\\xFF");
}

TEST(ReportHtmlTest, EscapesText) {
  const std::string page = of_sentences("<script>alert('&\"')</script>").html();
  EXPECT_FALSE(mentions(page, "<script"));
  EXPECT_TRUE(mentions(page, "“&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;”"));
  EXPECT_TRUE(mentions(of_sentences("a\xff").html(), "“a\\xFF”"));
  Report report = of_all_parts();
  report.types[0].op = report.types[0].shapes = "<x>";
  Report::MissedMerge& merge = report.missed_merges[0];
  merge.op = merge.field = merge.difference = merge.advice = merge.places[0] = "<x>";
  EXPECT_FALSE(mentions(report.html(), "<x"));
}

TEST(ReportHtmlTest, NeedsNoOtherFile) {
  for (const Report& report : {Report(), of_all_parts(), of_sentences("", true)}) {
    const std::string page = report.html();
    EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
    for (const char* other : {"http:", "https:", "src=", "href=", "url(", "@import", "<script"}) {
      EXPECT_FALSE(mentions(page, other)) << other;
    }
    EXPECT_FALSE(mentions(page, "nan"));
  }
}

TEST(ReportHtmlTest, ShowsRowsAndBars) {
  const std::string page = of_all_parts().html();
  EXPECT_TRUE(mentions(page, "<h1>11 nodes in 12 batches</h1>"));
  EXPECT_TRUE(mentions(page, "<b>7</b> of 8<br><small>batches saved</small>"));
  EXPECT_TRUE(mentions(page, "style=\"width:87.5%\""));
  EXPECT_TRUE(mentions(page, "6 kernel calls, 125 ms"));
  EXPECT_TRUE(mentions(page, "Split by <strong>length</strong>: input 0 is {1} or {2}."));
  EXPECT_TRUE(mentions(page, "<div class=place>b.cpp:2</div>"));
  EXPECT_TRUE(mentions(page, "<h2>Where the time goes</h2>"));
  EXPECT_TRUE(mentions(page, "<td class=n>500 ms<td class=n>7<td class=n>1<td class=n>2"));
  EXPECT_TRUE(mentions(page, "<i style=\"height:50.0%\"></i><i style=\"height:100.0%\"></i>"));
  const std::string unmeasured = of_sentences("").html();
  EXPECT_TRUE(mentions(unmeasured, "<h2>Where kernel calls go</h2>"));
  EXPECT_TRUE(mentions(unmeasured, "GraphOptions::record_places shows files and lines here."));
}

std::string text_of(const Report& report) {
  std::ostringstream text;
  text << report;
  return text.str();
}

TEST(ReportTextTest, AdviceComesFirst) {
  const std::string text = text_of(of_all_parts());
  EXPECT_TRUE(
      text.starts_with("not together: softmax \"scores\", 9 nodes of 2 types in 8 batches\n"))
      << text;
  EXPECT_LT(text.find("saves up to 7 batches"), text.find("shapes (* shared)"));
  EXPECT_LT(text.find("shapes (* shared)"), text.find("program of tanh"));
}

TEST(ReportTextTest, ShowsTheTypesWithMostNodes) {
  Report report;
  report.types.resize(20, {"tanh", "{2} -> {2}", 100, 1, 1, 1, 1, 1});
  EXPECT_FALSE(mentions(text_of(report), "others"));
  report.types.resize(57, {"exp", "{3} -> {3}", 3, 2, 1, 1, 1, 8});
  const std::string text = text_of(report);
  EXPECT_FALSE(mentions(text, "\nexp "));
  EXPECT_TRUE(mentions(text,
                       "\nothers                     111        74        37        37        "
                       "37          296  37 types: json() and html() have all\n"));
}

// Nodes with other numbers of columns are another type of the same recursion.
TEST(ReportTextTest, PrintsEveryProgramOnce) {
  Report report;
  report.types.resize(3, {.op = "along", .shapes = "", .program = "kind 0:\n  tanh\n"});
  report.types[2].program = "kind 1:\n  exp\n";
  const std::string text = text_of(report);
  EXPECT_TRUE(
      text.ends_with("program of along, kind 0:\n  tanh\nprogram of along, kind 1:\n  exp\n"))
      << text;
  EXPECT_EQ(text.find("kind 0"), text.rfind("kind 0"));
}

// Of many types the largest have a row each, and of many waves several have one bar.
TEST(ReportHtmlTest, StaysSmall) {
  Report report;
  report.types.resize(1000, {"tanh", "", 1, 1, 1, 0, 1, 1, false, 0.001});
  report.waves.resize(Report::kKeptWaves, {1, 1, 5});
  report.kernel_calls = 1000;
  EXPECT_LT(report.html().size(), 30'000u);
  EXPECT_TRUE(mentions(report.html(), "981 others"));
  EXPECT_TRUE(mentions(report.html(), "5 batches in the largest bar, on average of its 25 waves"));
}

}  // namespace
}  // namespace dynet_like
