// Clusters of words, and the softmax over paths through them.
#include "dynet/hsm-builder.h"

#include "dynet_like/compat/class_file.h"
#include "dynet_like/core/errors.h"

namespace dynet {

using dynet_like::FileError;
using dynet_like::UsageError;

namespace {

constexpr std::size_t kMaxPath = 256, kMaxClusters = std::size_t{1} << 21;

void check_index(unsigned index, unsigned count, const char* what) {
  if (index < count) return;
  throw UsageError(std::string("[Cluster] need ") + what + " below " + std::to_string(count) +
                   "; got " + std::to_string(index));
}

}  // namespace

Cluster* Cluster::add_child(unsigned sym) {
  if (!words_.empty()) throw UsageError("[Cluster] need children or words, not both; it has words");
  const auto [place, is_new] = index_.emplace(sym, num_children());
  if (is_new) {
    children_.push_back(std::make_unique<Cluster>());
    children_.back()->path_ = path_;
    children_.back()->path_.push_back(sym);
  }
  return children_[place->second].get();
}

void Cluster::add_word(unsigned word) {
  if (!children_.empty()) {
    throw UsageError("[Cluster] need children or words, not both; it has children");
  }
  if (!index_.emplace(word, num_words()).second) {
    throw UsageError("[Cluster] need each word once; got again word " + std::to_string(word));
  }
  words_.push_back(word);
}

void Cluster::initialize(unsigned rep_dim, ParameterCollection& model) {
  rep_dim_ = rep_dim;
  if (num_outcomes() > 1) {
    const unsigned rows = num_outcomes() == 2 ? 1 : num_outcomes();
    logits_.w = model.add_parameters({rows, rep_dim});
    logits_.b = model.add_parameters({rows}, ParameterInitConst(0));
  }
  for (const auto& child : children_) child->initialize(rep_dim, model);
}
void Cluster::initialize(ParameterCollection& model) {
  if (rep_dim_ == 0) throw UsageError("[Cluster] need initialize(rep_dim, model) first");
  initialize(rep_dim_, model);
}

void Cluster::new_graph(ComputationGraph& cg, bool update) {
  update_ = update;
  for (const auto& child : children_) child->new_graph(cg, update);
}

unsigned Cluster::sample(const Expression& h, dynet_like::ComputationGraph& cg) const {
  return detail::draw(log_distribution(h, cg));
}

Expression Cluster::neg_log_softmax(const Expression& h, unsigned r,
                                    dynet_like::ComputationGraph& cg) const {
  check_index(r, num_outcomes(), "an outcome");
  if (num_outcomes() == 1) return zeros(cg, Dim({1}, h.dim().bd));
  const Expression logits = logits_(h, update_);
  if (num_outcomes() == 2) return -log_sigmoid(r == 0 ? logits : -logits);
  return pickneglogsoftmax(logits, r);
}

Expression Cluster::log_distribution(const Expression& h, dynet_like::ComputationGraph& cg) const {
  if (num_outcomes() == 1) return zeros(cg, Dim({1}, h.dim().bd));
  const Expression logits = logits_(h, update_);
  if (num_outcomes() == 2) return concatenate({log_sigmoid(logits), log_sigmoid(-logits)});
  return log_softmax(logits);
}

unsigned Cluster::get_index(unsigned word) const {
  const auto found = index_.find(word);
  if (found != index_.end()) return found->second;
  throw UsageError("[Cluster] need a word or symbol of cluster \"" + toString() + "\"; got " +
                   std::to_string(word));
}
unsigned Cluster::get_word(unsigned index) const {
  check_index(index, num_words(), "a word");
  return words_[index];
}
const Cluster* Cluster::get_child(unsigned i) const {
  check_index(i, num_children(), "a child");
  return children_[i].get();
}

const Parameter& Cluster::checked(const Parameter& p) const {
  if (p.p) return p;
  throw UsageError("[Cluster] need several outcomes and initialize(); got none for \"" +
                   toString() + "\"");
}
Expression Cluster::get_weights(dynet_like::ComputationGraph& cg) const {
  const Parameter& w = checked(logits_.w);
  return update_ ? parameter(cg, w) : const_parameter(cg, w);
}
Expression Cluster::get_bias(dynet_like::ComputationGraph& cg) const {
  const Parameter& b = checked(logits_.b);
  return update_ ? parameter(cg, b) : const_parameter(cg, b);
}

std::string Cluster::toString() const {
  std::string text;
  for (const unsigned symbol : path_) {
    if (!text.empty()) text += ' ';
    text += std::to_string(symbol);
  }
  return text;
}

HierarchicalSoftmaxBuilder::HierarchicalSoftmaxBuilder(unsigned rep_dim,
                                                       const std::string& cluster_file,
                                                       Dict& word_dict, ParameterCollection& model)
    : model_(model.add_subcollection("hierarchical-softmax-builder")) {
  read_tree(cluster_file, word_dict);
  root_.initialize(rep_dim, model_);
}

void HierarchicalSoftmaxBuilder::read_tree(const std::string& file, Dict& words) {
  const auto lines = detail::read_class_file(file, detail::FirstField::path, words);
  leaves_.resize(words.size());
  Dict symbols;
  std::size_t clusters = 0;
  for (const detail::ClassedWord& line : lines) {
    const std::vector<std::string> path = detail::symbols_of(line.name);
    if (path.size() > kMaxPath) throw FileError(file, "need at most 256 symbols", line.line);
    try {
      Cluster* leaf = &root_;
      for (const std::string& symbol : path) {
        const unsigned before = leaf->num_children();
        Cluster* child = leaf->add_child(static_cast<unsigned>(symbols.convert(symbol)));
        clusters += leaf->num_children() - before;
        leaf = child;
      }
      leaf->add_word(line.word);
      leaves_[line.word] = leaf;
    } catch (const UsageError& error) {
      throw FileError(file, error.what(), line.line);
    }
    if (clusters > kMaxClusters) throw FileError(file, "need at most 2^21 clusters", line.line);
  }
}

Expression HierarchicalSoftmaxBuilder::neg_log_softmax(const Expression& rep, unsigned wordidx) {
  if (wordidx >= leaves_.size() || leaves_[wordidx] == nullptr) {
    throw UsageError("[HierarchicalSoftmaxBuilder] need a word of the tree; got word " +
                     std::to_string(wordidx));
  }
  dynet_like::ComputationGraph& graph = rep.graph("HierarchicalSoftmaxBuilder");
  std::vector<Expression> losses;
  const Cluster* cluster = &root_;
  for (const unsigned symbol : leaves_[wordidx]->get_path()) {
    const unsigned child = cluster->get_index(symbol);
    losses.push_back(cluster->neg_log_softmax(rep, child, graph));
    cluster = cluster->get_child(child);
  }
  losses.push_back(cluster->neg_log_softmax(rep, cluster->get_index(wordidx), graph));
  return sum(losses);
}
Expression HierarchicalSoftmaxBuilder::neg_log_softmax(const Expression& rep,
                                                       const std::vector<unsigned>& wordidxs) {
  return detail::neg_log_softmax_of_each(*this, rep, wordidxs);
}

unsigned HierarchicalSoftmaxBuilder::sample(const Expression& rep) {
  dynet_like::ComputationGraph& graph = rep.graph("HierarchicalSoftmaxBuilder");
  const Cluster* cluster = &root_;
  while (cluster->num_children() > 0) cluster = cluster->get_child(cluster->sample(rep, graph));
  return cluster->get_word(cluster->sample(rep, graph));
}

namespace {

// Adds the log probabilities of the words below a cluster, and the words themselves, leaf by leaf.
// `prefix` is the log probability of the cluster.
void add_leaves(const Cluster& cluster, const Expression& rep, const Expression& prefix,
                std::vector<Expression>& parts, std::vector<unsigned>& words) {
  const Expression all = prefix + cluster.log_distribution(rep, rep.graph("Cluster"));
  for (unsigned i = 0; i < cluster.num_children(); ++i) {
    add_leaves(*cluster.get_child(i), rep, pick_range(all, i, i + 1), parts, words);
  }
  if (cluster.num_words() > 0) parts.push_back(all);
  for (unsigned i = 0; i < cluster.num_words(); ++i) words.push_back(cluster.get_word(i));
}

}  // namespace

Expression HierarchicalSoftmaxBuilder::full_log_distribution(const Expression& rep) {
  std::vector<Expression> parts;
  std::vector<unsigned> words;
  add_leaves(root_, rep, zeros(rep.graph("HierarchicalSoftmaxBuilder"), {1}), parts, words);
  std::vector<std::optional<unsigned>> rows(leaves_.size());
  for (unsigned row = 0; row < words.size(); ++row) rows[words[row]] = row;
  return detail::in_order_of_words(std::move(parts), rows);
}

}  // namespace dynet
