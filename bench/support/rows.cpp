// The list of rows.
#include "bench/support/rows.h"

#include <fmt/core.h>

namespace dynet_like::bench {

namespace {

using batching::Policy;

constexpr unsigned kBatchOfPolicies = 64;

void add_rows(Row row, std::vector<Row>& rows) {
  for (unsigned batch : {1u, 16u, 64u, 256u}) {
    for (unsigned threads : {1u, 2u}) {
      row.batch = batch;
      row.threads = threads;
      row.policy = row.form == "single" ? Policy::none : Policy::automatic;
      rows.push_back(row);
    }
  }
  if (row.form == "single") return;
  row.batch = kBatchOfPolicies;
  row.threads = 1;
  for (Policy policy : {Policy::none, Policy::depth, Policy::agenda, Policy::descent}) {
    if (policy == Policy::none && row.form == "ops") continue;  // that is "single"
    row.policy = policy;
    rows.push_back(row);
  }
}

}  // namespace

std::string Row::name() const {
  return fmt::format("{}/h{}/b{}/{}/{}/{}/t{}", model, hidden, batch, train ? "train" : "infer",
                     form, batching::name_of(policy), threads);
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const ModelKind& kind : all_models()) {
    for (unsigned hidden : kind.sizes) {
      for (const std::string form : {"fused", "ops", "steps", "single"}) {
        if (form == "steps" && !kind.has_steps) continue;
        for (bool train : {true, false}) {
          Row row;
          row.model = kind.name;
          row.hidden = hidden;
          row.train = train;
          row.form = form;
          add_rows(row, rows);
        }
      }
    }
  }
  return rows;
}

}  // namespace dynet_like::bench
