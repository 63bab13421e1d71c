// A timeline in the trace event format: rows of nested events, and curves of bytes.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/text.h"
#include "dynet_like/core/timeline_track.h"

namespace dynet_like::detail {

namespace {

using Event = TimelineTrack::Event;

// The file is UTF-8, whatever bytes a name has.
std::string json_text(const std::string& text) { return nlohmann::json(visible_text(text)).dump(); }

// Sorts by begin; of events that begin together, an outer one comes before the events inside it.
void sort(std::vector<Event>& events) {
  std::ranges::stable_sort(events, [](const Event& a, const Event& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
}

// Events overlap where samples wait inside a scope of the program, but a row of a viewer must nest.
// Removes the overlapping ones from `events`, and returns them.
std::vector<Event> take_overlapping(std::vector<Event>& events) {
  std::vector<Event> nested, others;
  std::vector<std::uint64_t> open;  // the ends of the open events
  for (const Event& event : events) {
    while (!open.empty() && open.back() <= event.begin) open.pop_back();
    if (!open.empty() && open.back() < event.end) {
      others.push_back(event);
      continue;
    }
    open.push_back(event.end);
    nested.push_back(event);
  }
  events = std::move(nested);
  return others;
}

std::string microseconds(std::uint64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

std::string text_of(const Event& event, const TimelineLabel& label, const std::string& head,
                    std::size_t row) {
  std::string text =
      fmt::format(R"(,
{{"ph":"X","pid":1,"tid":{},"ts":{},"dur":{},{},"args":{{)",
                  row, microseconds(event.begin), microseconds(event.end - event.begin), head);
  const char* between = "";
  if (!label.shapes.empty()) {
    text += "\"shapes\":" + json_text(label.shapes);
    between = ",";
  }
  for (std::size_t i = 0; i < label.numbers.size() && label.numbers[i] != nullptr; ++i) {
    text += fmt::format("{}\"{}\":{}", between, label.numbers[i], event.numbers[i]);
    between = ",";
  }
  return text + "}}";
}

}  // namespace

struct TimelineState::Row {
  std::string name;
  std::vector<Event> events;
};

// A row per thread, and more rows where events overlap.
std::vector<TimelineState::Row> TimelineState::rows() const {
  std::vector<Row> rows;
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    Row row{t == 0 ? "main thread" : fmt::format("thread {}", t + 1), {}};
    {
      const std::lock_guard lock(tracks_[t]->mutex_);
      const TimelineList<Event>& events = tracks_[t]->events_;
      for (std::size_t i = 0; i < events.size(); ++i) row.events.push_back(events[i]);
    }
    sort(row.events);
    const std::string name = row.name;
    while (!row.events.empty()) {
      std::vector<Event> others = take_overlapping(row.events);
      rows.push_back(std::move(row));
      row = {name + ", at the same time", std::move(others)};
    }
  }
  return rows;
}

void TimelineState::write_json(const std::function<void(std::string_view)>& write) const {
  const std::lock_guard lock(mutex_);
  write(
      fmt::format(R"({{"displayTimeUnit":"ms","otherData":{{"events":{},"dropped":{}}},
"traceEvents":[
{{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{{"name":"dynet_like{}"}}}})",
                  size(), dropped(),
                  dropped() == 0 ? "" : fmt::format(" ({} dropped)", counted(dropped(), "event"))));
  std::vector<std::string> heads;
  for (const TimelineLabel& label : labels_) {
    heads.push_back(fmt::format(R"("name":{},"cat":"{}")", json_text(label.name), label.category));
  }
  std::size_t number = 0;
  for (const Row& row : rows()) {
    ++number;
    write(fmt::format(R"(,
{{"ph":"M","pid":1,"tid":{0},"name":"thread_name","args":{{"name":"{1}"}}}},
{{"ph":"M","pid":1,"tid":{0},"name":"thread_sort_index","args":{{"sort_index":{0}}}}})",
                      number, row.name));
    for (const Event& event : row.events) {
      write(text_of(event, labels_[event.label], heads[event.label], number));
    }
  }
  const std::lock_guard held_lock(held_mutex_);
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const auto& [at, values, gradients] = held_[i];
    write(fmt::format(R"(,
{{"ph":"C","pid":1,"tid":0,"ts":{},"name":"bytes held","args":{{"values":{},"gradients":{}}}}})",
                      microseconds(at), values, gradients));
  }
  write("\n]}\n");
}

}  // namespace dynet_like::detail
