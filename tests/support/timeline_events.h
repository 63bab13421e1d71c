// The events of a timeline file, as a viewer reads them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dynet_like {

struct TimelineEvents {
  using Json = nlohmann::json;
  struct Event {
    std::string name, category;
    Json args;
    std::int64_t begin = 0, end = 0;  ///< nanoseconds
  };

  explicit TimelineEvents(const std::string& text) : all(Json::parse(text)) {
    for (const Json& event : all["traceEvents"]) {
      const std::string kind = event["ph"];
      if (kind == "M" && event["name"] == "thread_name") {
        names[event["tid"]] = event["args"]["name"];
      } else if (kind == "C") {
        held.push_back(event);
      } else if (kind == "X") {
        const std::int64_t begin = std::llround(1000 * event["ts"].get<double>());
        const std::int64_t length = std::llround(1000 * event["dur"].get<double>());
        rows[event["tid"]].push_back(
            {event["name"], event["cat"], event["args"], begin, begin + length});
      }
    }
  }

  /// The events of all rows.
  std::vector<Event> named(const std::string& name) const { return all_with(&Event::name, name); }
  std::vector<Event> of(const std::string& category) const {
    return all_with(&Event::category, category);
  }
  /// Expects that every row has a name, and that events nest: one that begins within another ends
  /// in it.
  void expect_nested() const {
    for (const auto& [tid, events] : rows) {
      EXPECT_TRUE(names.contains(tid)) << tid;
      std::vector<Event> open;
      for (const Event& event : events) {
        while (!open.empty() && open.back().end <= event.begin) open.pop_back();
        if (!open.empty()) {
          EXPECT_LE(event.end, open.back().end) << event.name << " in " << open.back().name;
        }
        open.push_back(event);
      }
    }
  }
  /// Whether this event is inside an event of that name.
  bool is_within(const Event& event, const std::string& name) const {
    return std::ranges::any_of(named(name), [&](const Event& outer) {
      return outer.begin <= event.begin && event.end <= outer.end;
    });
  }

  Json all;
  std::map<int, std::vector<Event>> rows;  ///< in the order of the file
  std::map<int, std::string> names;
  std::vector<Json> held;

 private:
  std::vector<Event> all_with(std::string Event::*member, const std::string& value) const {
    std::vector<Event> found;
    for (const auto& [tid, events] : rows) {
      std::ranges::copy_if(events, std::back_inserter(found),
                           [&](const Event& event) { return event.*member == value; });
    }
    return found;
  }
};

}  // namespace dynet_like
