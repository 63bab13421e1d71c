// Collecting rows, batch by batch.
#include "dynet_like/report/batch_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/text.h"

namespace dynet_like::detail {

namespace {

/// Where a row comes from.
struct Source {
  const RunState* run;
  std::uint32_t batch;

  const Batch& get() const { return run->batches[batch]; }
};

class RowMaker {
 public:
  RowMaker(std::span<const RunState* const> runs, std::size_t samples)
      : types_(runs[0]->types()), samples_(samples) {
    for (const RunState* run : runs) {
      for (std::uint32_t b = 0; b < run->batches.size(); ++b) {
        // A batch without nodes has lost its values: they were released.
        if (run->batches[b].nodes > 0) sources_.push_back({run, b});
      }
    }
    std::ranges::stable_sort(sources_, {}, [](const Source& source) { return source.get().pass; });
  }

  BatchRows make(std::size_t first, std::size_t end) {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      marks_ = i >= first && i < end;
      add(sources_[i]);
    }
    return std::move(made_);
  }

 private:
  void add(const Source& source) {
    BatchRow row;
    const Batch& batch = source.get();
    row.run = batch.pass;
    row.shared = batch.shared;
    seen_.clear();
    add_nodes(*source.run, batch, row);
    if (row.nodes == 0) return;  // all of its nodes were reverted
    row.samples = seen_.size();
    made_.nodes += row.nodes;
    made_.rows.push_back(std::move(row));
  }

  void add_nodes(const RunState& run, const Batch& batch, BatchRow& row) {
    const Signature& signature = batch.signature();
    row.kind = kind_of(batch.type->id, [&] {
      return RowKind{visible_text(signature.op->name), shapes_text(signature)};
    });
    const RowKind& kind = made_.kinds[row.kind];
    for (NodeRef ref : run.nodes_of(batch)) {
      if (ref.node == kNone) continue;  // reverted
      ++row.nodes;
      seen_.insert(ref.tape);
      if (!marks_ || (!is_marked(ref.tape) && !batch.shared)) continue;
      const std::string& label = label_of(run.tape(ref), ref.node);
      row.marks[ref.tape].push_back(
          {ref, fmt::format("{} {}\nsample {}, node {}{}", kind.op, kind.shapes, ref.tape, ref.node,
                            label.empty() ? "" : " \"" + visible_text(label) + '"')});
    }
  }

  bool is_marked(std::uint32_t sample) const { return sample < samples_; }

  template <class Make>
  std::size_t kind_of(std::size_t number, const Make& make) {
    const auto [known, is_new] = kinds_.try_emplace(number, made_.kinds.size());
    if (is_new) made_.kinds.push_back(make());
    return known->second;
  }

  const TypeTable& types_;
  std::size_t samples_;
  std::vector<Source> sources_;
  bool marks_ = false;
  BatchRows made_;
  std::map<std::size_t, std::size_t> kinds_;  ///< by type
  std::set<std::uint32_t> seen_;              ///< samples of the row
};

}  // namespace

BatchRows rows_of(std::span<const RunState* const> runs, std::size_t samples, std::size_t first,
                  std::size_t end) {
  return RowMaker(runs, samples).make(first, end);
}

}  // namespace dynet_like::detail
