// The picture of batches as SVG: legend, columns of samples, rows of batches, edges, marks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/xml_text.h"
#include "dynet_like/report/batch_rows.h"
#include "dynet_like/report/make_report.h"

namespace dynet_like::detail {

namespace {

constexpr double kMargin = 16, kLabels = 320, kColumn = 84, kBars = 110, kRow = 24, kRunRow = 20;
constexpr double kDot = 5, kBetweenDots = 15;
constexpr std::size_t kMostDots = 5, kLongestName = 30, kLegendColumns = 3;
// Colours that people with colour blindness can tell apart, too; the last is for all other types.
constexpr std::array<const char*, 15> kColours = {
    "#4477aa", "#ee6677", "#228833", "#b9a526", "#66ccee", "#aa3377", "#ee8833", "#7755bb",
    "#44aa99", "#997744", "#113366", "#dd99cc", "#77bb55", "#772222", "#a0a8b4"};

constexpr std::string_view kStyle =
    "<style>\n"
    "text { font: 12px system-ui, 'DejaVu Sans', sans-serif; fill: #1d2433; }\n"
    ".faint { fill: #667085; }\n"
    ".title { font-size: 16px; font-weight: 600; }\n"
    ".alone text.count { fill: #b42318; font-weight: 600; }\n"
    ".edge { fill: none; stroke: #8590a2; stroke-width: 1; opacity: .6; }\n"
    ".far { opacity: .3; }\n"
    ".band { fill: #f0f2f6; } .row:hover .band { fill: #dce6f8; }\n"
    ".many { font-size: 11px; fill: #fff; text-anchor: middle; }\n"
    "</style>\n";

struct Point {
  double x = 0, y = 0;
};

std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 1) + "…";
}

// The colours of types. The types with most nodes get a colour of their own.
struct Palette {
  std::vector<std::size_t> order, places;  ///< types with a colour of their own; by type, its index
                                           ///< in kColours
  std::size_t others = 0;                  ///< types without a colour of their own

  const char* colour(const BatchRow& row) const { return kColours[places[row.kind]]; }
};

Palette palette_of(std::span<const BatchRow> rows, std::size_t kinds) {
  Palette palette;
  std::vector<std::size_t> nodes(kinds);
  for (const BatchRow& row : rows) {
    if (nodes[row.kind] == 0) palette.order.push_back(row.kind);
    nodes[row.kind] += row.nodes;
  }
  std::vector<std::size_t> rank = palette.order;
  std::ranges::stable_sort(rank, std::greater(), [&](std::size_t kind) { return nodes[kind]; });
  rank.resize(std::min(rank.size(), kColours.size() - 1));
  palette.others = palette.order.size() - rank.size();
  std::erase_if(palette.order,
                [&](std::size_t kind) { return std::ranges::find(rank, kind) == rank.end(); });
  palette.places.assign(kinds, kColours.size() - 1);
  for (std::size_t i = 0; i < palette.order.size(); ++i) palette.places[palette.order[i]] = i;
  return palette;
}

class BatchDrawing {
 public:
  BatchDrawing(std::span<const RunState* const> runs, const BatchPicture& what)
      : runs_(runs),
        what_(what),
        end_(what.first_row + std::min(what.rows, std::size_t{1} << 20)),
        all_(rows_of(runs, what.samples, what.first_row, end_)) {
    if (all_.rows.empty()) {
      throw UsageError(
          "[draw_batches] need values that were computed and not freed: call forward before, "
          "without parts for a memory_limit; got no batch");
    }
    if (what.first_row >= all_.rows.size()) {
      throw UsageError(fmt::format("[draw_batches] need a first row below {}; got {}",
                                   all_.rows.size(), what.first_row));
    }
    end_ = std::min(end_, all_.rows.size());
    samples_ = std::min(what_.samples, runs_[0]->tapes().size());
    has_shared_ = std::ranges::any_of(shown(), &BatchRow::shared);
    has_runs_ = all_.rows.front().run != all_.rows.back().run;
    palette_ = palette_of(shown(), all_.kinds.size());
  }

  std::string draw() {
    width_ = 2 * kMargin + kLabels + kBars + kColumn * static_cast<double>(columns());
    draw_heading();
    place_rows();
    draw_columns();
    draw_bands();
    draw_edges();
    draw_marks();
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0} {1:.0f}\">\n",
               width_, y_ + kMargin) +
           std::string(kStyle) + "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + text_ +
           "</svg>\n";
  }

 private:
  std::size_t columns() const { return samples_ + (has_shared_ ? 1 : 0); }
  double column(std::size_t c) const {
    return kMargin + kLabels + kColumn * (static_cast<double>(c) + .5);
  }
  std::size_t column_of(const BatchRow& row, std::uint32_t sample) const {
    return row.shared ? 0 : sample + (has_shared_ ? 1 : 0);
  }
  std::span<const BatchRow> shown() const {
    return std::span(all_.rows).subspan(what_.first_row, end_ - what_.first_row);
  }

  void add_text(double x, double y, const std::string& text, const char* attributes = "") {
    text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                         xml_text(text));
  }

  void draw_heading() {
    std::size_t alone = 0;
    for (const BatchRow& row : all_.rows) alone += row.is_alone() ? 1 : 0;
    y_ = kMargin + 16;
    add_text(kMargin, y_,
             fmt::format("{} of {} in {}", counted(all_.nodes, "node"),
                         counted(runs_[0]->tapes().size(), "sample"),
                         counted(all_.rows.size(), "batch", "batches")),
             "class=\"title\"");
    y_ += 20;
    std::string shown = "A row is a batch, in the order in which they ran; a column is a sample.";
    if (alone > 0) shown += fmt::format(" ○ ran alone: {}.", counted(alone, "row"));
    if (has_runs_) shown += " A run is a forward pass, or a wave of samples that waited.";
    const std::size_t samples = runs_[0]->tapes().size();
    if (samples_ < samples)
      shown += fmt::format(" Columns: the first {}.", counted(samples_, "sample"));
    if (what_.first_row > 0 || end_ < all_.rows.size()) {
      shown += fmt::format(" Rows: {} to {} of {}.", what_.first_row + 1, end_, all_.rows.size());
    }
    add_text(kMargin, y_, shown, "class=\"faint\"");
    draw_legend();
  }

  void draw_legend() {
    const double width = (width_ - 2 * kMargin) / kLegendColumns;
    const auto letters = static_cast<std::size_t>(width / 6.6);
    const std::size_t named = palette_.order.size();
    const std::size_t entries = named + (palette_.others > 0 ? 1 : 0);
    for (std::size_t i = 0; i < entries; ++i) {
      const double x = kMargin + width * static_cast<double>(i % kLegendColumns);
      if (i % kLegendColumns == 0) y_ += 20;
      const RowKind kind = i < named ? all_.kinds[palette_.order[i]] : RowKind();
      text_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" rx=\"6\" fill=\"{}\"/>\n", x,
          y_ - 10, i < named ? kColours[i] : kColours.back());
      const std::string name = kind.op + ' ' + kind.shapes;
      add_text(x + 18, y_,
               i == named ? counted(palette_.others, "other type")
                          : shortened(name, letters > 12 ? letters - 4 : letters));
    }
    y_ += 14;
  }

  void place_rows() {
    y_ += 24;  // the names of columns
    top_ = y_;
    std::uint64_t run = all_.rows[what_.first_row].run;
    bool is_first = has_runs_;
    for (std::size_t r = what_.first_row; r < end_; ++r) {
      const BatchRow& row = all_.rows[r];
      if (is_first || row.run != run) {
        run_of_row_.push_back({r, y_ + kRunRow - 6});
        y_ += kRunRow;
      }
      is_first = false;
      run = row.run;
      middle_.push_back(y_ + kRow / 2);
      y_ += kRow;
    }
    if (end_ < all_.rows.size()) {
      y_ += kRow;
      add_text(kMargin, y_ - 7,
               fmt::format("… and {} more, which BatchPicture::first_row and rows show",
                           counted(all_.rows.size() - end_, "row")),
               "class=\"faint\"");
    }
  }

  void draw_columns() {
    for (std::size_t c = 0; c < columns(); ++c) {
      const bool is_shared = has_shared_ && c == 0;
      add_text(column(c), top_ - 8,
               is_shared ? "all samples" : fmt::format("sample {}", c - (has_shared_ ? 1 : 0)),
               "class=\"faint\" text-anchor=\"middle\"");
    }
    add_text(kMargin + kLabels - 10, top_ - 8, "nodes", "class=\"faint\" text-anchor=\"end\"");
    std::size_t number = runs_before();
    for (const auto& [r, y] : run_of_row_) {
      text_ += fmt::format(
          "<line x1=\"{0}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#98a2b3\"/>\n",
          kMargin, width_ - kMargin, y - kRunRow + 8);
      add_text(kMargin, y, fmt::format("run {}", ++number), "class=\"faint\"");
    }
  }

  // How many runs begin in rows above the first one shown. A run that goes on in that row is not
  // counted.
  std::size_t runs_before() const {
    std::set<std::uint64_t> runs;
    for (std::size_t r = 0; r < what_.first_row; ++r) {
      if (all_.rows[r].run != all_.rows[what_.first_row].run) runs.insert(all_.rows[r].run);
    }
    return runs.size();
  }

  void draw_bands() {
    std::size_t most = 1;
    for (const BatchRow& row : shown()) most = std::max(most, row.nodes);
    for (std::size_t r = what_.first_row; r < end_; ++r) {
      const BatchRow& row = all_.rows[r];
      const double y = middle_[r - what_.first_row];
      const double left = kMargin + kLabels, right = width_ - kMargin - kBars;
      const RowKind& kind = all_.kinds[row.kind];
      text_ += fmt::format("<g class=\"row{}\" id=\"batch-{}\"><title>{}</title>\n",
                           row.is_alone() ? " alone" : "", r, xml_text(title_of(row)));
      text_ += fmt::format(
          "<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" "
          "rx=\"8\"/>\n",
          left + 4, y - kRow / 2 + 2, right - left - 8, kRow - 4);
      add_text(kMargin, y + 4, std::to_string(r + 1), "class=\"faint\"");
      add_text(kMargin + 36, y + 4, shortened(kind.op, kLongestName));
      const double width = 70 * static_cast<double>(row.nodes) / static_cast<double>(most);
      text_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"8\" fill=\"{}\"/>\n",
          right + 10, y - 4, std::max(width, 1.0), palette_.colour(row));
      add_text(left - 10, y + 4, (row.is_alone() ? "alone: " : "") + std::to_string(row.nodes),
               "class=\"count\" text-anchor=\"end\"");
      text_ += "</g>\n";
    }
  }

  std::string title_of(const BatchRow& row) const {
    const RowKind& kind = all_.kinds[row.kind];
    return fmt::format("{} {}\n{} of {}", kind.op, kind.shapes, counted(row.nodes, "node"),
                       counted(row.samples, "sample"));
  }

  // Where each mark of a column is. If there are too many, they share one point.
  std::vector<Point> places(std::size_t c, std::size_t marks, double y) const {
    std::vector<Point> points(marks, Point{column(c), y});
    if (marks > kMostDots) return points;
    for (std::size_t i = 0; i < marks; ++i) {
      points[i].x += kBetweenDots * (static_cast<double>(i) - static_cast<double>(marks - 1) / 2);
    }
    return points;
  }

  template <class Visit>
  void for_marks(const Visit& visit) const {
    for (std::size_t r = 0; const BatchRow& row : shown()) {
      const double y = middle_[r++];
      for (const auto& [sample, marks] : row.marks) {
        visit(row, marks, places(column_of(row, sample), marks.size(), y));
      }
    }
  }

  void draw_edges() {
    std::map<std::pair<std::uint32_t, NodeId>, Point> at;
    for_marks([&](const BatchRow&, const auto& marks, const auto& points) {
      for (std::size_t i = 0; i < marks.size(); ++i) {
        at[{marks[i].node.tape, marks[i].node.node}] = points[i];
      }
    });
    std::set<std::tuple<double, double, double, double>> drawn;
    for_marks([&](const BatchRow&, const auto& marks, const auto& points) {
      for (std::size_t i = 0; i < marks.size(); ++i) {
        const NodeRef ref = marks[i].node;
        for (ValueId input : runs_[0]->tape(ref).inputs_of(ref.node)) {
          const auto from = at.find({ref.tape, runs_[0]->tape(ref).value(input).node});
          if (from == at.end()) continue;
          const auto [x, y] = from->second;
          if (y < points[i].y && drawn.insert({x, y, points[i].x, points[i].y}).second) {
            draw_edge(from->second, points[i]);
          }
        }
      }
    });
  }

  // An edge that passes other rows bends to the side.
  void draw_edge(Point from, Point to) {
    const double rows = (to.y - from.y) / kRow;
    const bool is_far = rows > 4;
    const double aside = rows < 1.5 ? 0 : std::min(kColumn / 2 - 6, 4 + 2.5 * rows);
    text_ += fmt::format(
        "<path class=\"edge{}\" d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"/>\n",
        is_far ? " far" : "", from.x, from.y, from.x + aside, from.y + kRow * .8, to.x + aside,
        to.y - kRow * .8, to.x, to.y);
  }

  void draw_marks() {
    for_marks([&](const BatchRow& row, const auto& marks, const auto& points) {
      if (marks.size() > kMostDots) return draw_many(row, marks, points[0]);
      for (std::size_t i = 0; i < marks.size(); ++i) draw_mark(row, marks[i], points[i]);
    });
  }

  void draw_many(const BatchRow& row, const std::vector<RowMark>& marks, Point at) {
    constexpr double kWidth = 64, kHeight = 16;
    text_ += fmt::format(
        "<g><title>{} like: {}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" "
        "rx=\"8\" fill=\"{}\"/>",
        marks.size(), xml_text(marks[0].title), at.x - kWidth / 2, at.y - kHeight / 2, kWidth,
        kHeight, palette_.colour(row));
    add_text(at.x, at.y + 4, fmt::format("× {}", marks.size()), "class=\"many\"");
    text_ += "</g>\n";
  }

  void draw_mark(const BatchRow& row, const RowMark& mark, Point at) {
    const std::string look =
        row.is_alone()
            ? fmt::format("fill=\"#fff\" stroke=\"{}\" stroke-width=\"2.5\"", palette_.colour(row))
            : fmt::format("fill=\"{}\"", palette_.colour(row));
    const std::string title = "<title>" + xml_text(mark.title) + "</title>";
    text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" {}>{}</circle>\n", at.x,
                         at.y, kDot, look, title);
  }

  std::span<const RunState* const> runs_;
  BatchPicture what_;
  std::size_t end_;  ///< end of the rows that are shown
  BatchRows all_;
  std::size_t samples_ = 0;
  bool has_shared_ = false, has_runs_ = false;
  Palette palette_;
  double width_ = 0, y_ = 0, top_ = 0;
  std::vector<double> middle_;                              ///< of the rows that are shown
  std::vector<std::pair<std::size_t, double>> run_of_row_;  ///< first rows of runs, and their y
  std::string text_;
};

}  // namespace

std::string draw_batches(const Executor& executor, const BatchPicture& what) {
  const Executor::Totals totals = executor.totals();
  if (executor.common().tapes.empty()) {
    throw UsageError("[draw_batches] need a minibatch with samples; got none");
  }
  return BatchDrawing(totals.runs, what).draw();
}

}  // namespace dynet_like::detail
