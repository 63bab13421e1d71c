// Frees values of a search, step by step.
#include "nn/decode/search_memory.h"

#include <algorithm>

#include "dynet_like/tape/tape.h"

namespace dynet_like::nn {

namespace {

// Freeing fewer at a time is not worth a call.
constexpr unsigned kManyActions = 256;
constexpr std::size_t kManyNodes = 64;

}  // namespace

void SearchMemory::begin_step() {
  if (graph_ != nullptr) step_ = graph_->size();
}

void SearchMemory::begin_scores() {
  if (graph_ != nullptr) begin_ = graph_->size();
}

void SearchMemory::end_scores(Path path, const Expression& scores) {
  if (graph_ == nullptr) {
    graph_ = &scores.graph("decode");
    first_ = swept_ = step_ = begin_ = graph_->size();
  }
  const Nodes nodes = {begin_, graph_->size()};
  if (scores.dim().rows() >= kManyActions) {
    scores_.push_back(nodes);
  } else if (!is_known_) {
    paths_[path].scores = nodes;
  }
}

void SearchMemory::begin_advance() { begin_ = graph_->size(); }

SearchMemory::Path SearchMemory::end_advance(Path before) {
  if (is_known_) return kStart;
  ++paths_[before].open;
  paths_.push_back({before, 1, {begin_, graph_->size()}, {}});
  return static_cast<Path>(paths_.size() - 1);
}

void SearchMemory::hold(Path path) {
  if (path != kStart) ++paths_[path].open;
}

void SearchMemory::close(Path path) {
  while (path != kStart && --paths_[path].open == 0) {
    forget(paths_[path].advance);
    forget(paths_[path].scores);
    path = paths_[path].before;
  }
}

void SearchMemory::end_step(std::span<const Path> paths, const MarkAll& mark_all) {
  for (const Nodes& nodes : scores_) forget(nodes);
  scores_.clear();
  if (!is_known_) {
    for (const Path path : paths) close(path);
  } else if (step_ >= swept_ + std::max(kManyNodes, 4 * kept_.size())) {
    sweep(mark_all);
  }
}

void SearchMemory::forget(const Nodes& nodes) {
  if (nodes.begin < nodes.end) graph_->forget_values(nodes.begin, nodes.end);
}

// Keeps nodes that states refer to, and nodes before the search or after the beginning of this
// step; frees all others.
void SearchMemory::sweep(const MarkAll& mark_all) {
  ++sweeps_;
  last_sweep_.resize(step_ - first_, 0);
  mark_all([&](const Expression& e) {
    const std::size_t node = e.graph("decode").record().tape().value(e.i).node;
    if (node >= first_ && node < step_) last_sweep_[node - first_] = sweeps_;
  });
  const auto stays = [&](std::size_t node) { return last_sweep_[node - first_] == sweeps_; };
  std::erase_if(kept_, [&](std::size_t node) {
    if (!stays(node)) forget({node, node + 1});
    return !stays(node);
  });
  for (std::size_t node = swept_; node < step_; ++node) {
    if (!stays(node)) continue;
    forget({swept_, node});
    kept_.push_back(node);
    swept_ = node + 1;
  }
  forget({swept_, step_});
  swept_ = step_;
}

}  // namespace dynet_like::nn
