// Losses and decoders where scores are -infinity and nothing, little or everything is possible:
// against all structures one by one, in float and in double.
#include "tests/structured/problem.h"
#include "tests/support/all_trees.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

// ------------------------------------------------------------------------------------- chains

/// A sequence of tags as a structure, with emissions in a parameter.
Places places_of(const Problem& problem, const Numbers& tags, unsigned n, const std::string& crf) {
  Places places = {problem.first(crf + "/start") + tags.front(),
                   problem.first(crf + "/end") + tags.back()};
  for (std::size_t t = 1; t < tags.size(); ++t) {
    places.push_back(problem.first(crf + "/transitions") + tags[t - 1] + n * tags[t]);
  }
  return places;
}

Problem chain_problem(unsigned tags, unsigned words, const std::vector<int>& known, DType dtype) {
  Problem problem(dtype);
  const LinearChainCRF crf(problem.model, tags);
  const Parameter emissions = problem.add({tags, words}, "emissions");
  const std::vector<Numbers> all = all_sequences(tags, words);
  std::vector<Numbers> kept;
  for (const Numbers& sequence : all) {
    bool fits = true;
    for (std::size_t t = 0; t < known.size(); ++t) {
      fits = fits && (known[t] < 0 || static_cast<unsigned>(known[t]) == sequence[t]);
    }
    if (!fits) continue;
    kept.push_back(sequence);
    problem.structures.push_back(places_of(problem, sequence, tags, "/crf"));
    for (unsigned t = 0; t < words; ++t) {
      problem.structures.back().push_back(problem.first("/emissions") + sequence[t] + tags * t);
    }
  }
  problem.log_partition = [=](ComputationGraph& graph) {
    return crf.log_partition(parameter(graph, emissions), known);
  };
  problem.loss = [=, log_partition = problem.log_partition](ComputationGraph& graph,
                                                            std::size_t i) {
    if (known.empty()) return crf.loss(parameter(graph, emissions), kept[i]);
    return log_partition(graph) - crf.score(parameter(graph, emissions), kept[i]);
  };
  return problem;
}

TEST(StructuredEdgesTest, LinearChains) {
  for (const unsigned tags : {1u, 2u, 3u}) {
    for (const unsigned words : {1u, 2u, 4u}) {
      SCOPED_TRACE(std::to_string(tags) + " tags, " + std::to_string(words) + " words");
      check([&](DType dtype) { return chain_problem(tags, words, {}, dtype); });
    }
  }
}

TEST(StructuredEdgesTest, LinearChainsWithSomeTagsKnown) {
  for (const std::vector<int>& known : std::vector<std::vector<int>>{
           {-1, 1, -1, -1}, {2, -1, 0, -1}, {-1, -1, -1, 1}, {0, 1, -1, -1}, {1, 0, 2, 2}}) {
    check([&](DType dtype) { return chain_problem(3, 4, known, dtype); });
  }
}

// Where all sequences are forbidden, all are as good.
TEST(StructuredEdgesTest, ViterbiFindsTheFirstOfTheBestTags) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    ParameterCollection model(1, dtype);
    const LinearChainCRF crf(model, 3);
    Random random(9);
    for (int round = 0; round < 60; ++round) {
      const unsigned words = 1 + random.below(4);
      const double forbidden = 0.25 * random.below(5);
      Doubles scores;
      const auto next = [&] {
        scores.push_back(random.uniform() < forbidden ? -kInfinity : random.below(3));
        return scores.back();
      };
      for (const char* name : {"/crf/transitions", "/crf/start", "/crf/end"}) {
        const Tensor values = Parameter(model.find(name)).values();
        for (unsigned i = 0; i < values.d.size(); ++i) values.set(i, next());
      }
      std::vector<float> emissions;
      for (unsigned i = 0; i < 3 * words; ++i) emissions.push_back(static_cast<float>(next()));
      Numbers best;
      double most = -kInfinity;
      for (const Numbers& tags : all_sequences(3, words)) {
        double score = scores[9 + tags.front()] + scores[12 + tags.back()];
        for (unsigned t = 0; t < words; ++t) {
          score += scores[15 + tags[t] + 3 * t];
          if (t > 0) score += scores[tags[t - 1] + 3 * tags[t]];
        }
        if (best.empty() || score > most) best = tags, most = score;
      }
      ComputationGraph graph({.dtype = dtype});
      const Tensor found = crf.best(input(graph, Dim({3, words}), emissions)).value();
      EXPECT_EQ(argmax_of_columns(found).size(), words);
      if (most > -kInfinity) {
        EXPECT_EQ(argmax_of_columns(found), best);
      }
    }
  }
}

// ----------------------------------------------------------------------------------- segments

using Spans = std::vector<LabelledSpan>;

/// All segmentations of the first words: the first labels at the end come first, then the shortest
/// last segment, then the same before it.
std::vector<Spans> all_segmentations(unsigned words, unsigned labels, unsigned longest) {
  if (words == 0) return {{}};
  std::vector<Spans> all;
  for (unsigned label = 0; label < labels; ++label) {
    for (unsigned length = 1; length <= std::min(words, longest); ++length) {
      for (Spans each : all_segmentations(words - length, labels, longest)) {
        each.push_back({words - length, words, label});
        all.push_back(std::move(each));
      }
    }
  }
  return all;
}

/// Scores of spans by their widths, up to the longest.
struct SpanParameters {
  SpanParameters(Problem& problem, unsigned words, unsigned labels, unsigned longest)
      : words(words), labels(labels) {
    for (unsigned width = 1; width <= std::min(words, longest); ++width) {
      const std::string name = "w" + std::to_string(width);
      widths.push_back(problem.add({labels, words - width + 1}, name));
      firsts.push_back(problem.first("/" + name));
    }
  }
  std::vector<Expression> scores(ComputationGraph& graph) const {
    std::vector<Expression> all;
    for (const Parameter& each : widths) {
      all.push_back(reshape(parameter(graph, each), Dim({labels}, each.dim()[1])));
    }
    return all;
  }
  std::size_t place(const LabelledSpan& span) const {
    return firsts[span.end - span.start - 1] + span.label + std::size_t{labels} * span.start;
  }

  unsigned words, labels;
  std::vector<Parameter> widths;
  Places firsts;
};

Problem segment_problem(unsigned words, unsigned labels, unsigned longest, DType dtype) {
  Problem problem(dtype);
  const SemiMarkovCRF crf(problem.model, labels, {.max_length = longest, .name = "crf"});
  const SpanParameters spans(problem, words, labels, longest);
  const std::vector<Spans> all = all_segmentations(words, labels, longest);
  const auto places = [=](const Problem& of, const Spans& segments) {
    Numbers sequence;
    for (const LabelledSpan& each : segments) sequence.push_back(each.label);
    Places result = places_of(of, sequence, labels, "/crf");
    for (const LabelledSpan& each : segments) result.push_back(spans.place(each));
    return result;
  };
  std::map<std::vector<unsigned>, Places> by_segments;
  const auto key = [](const Spans& segments) {
    std::vector<unsigned> key;
    for (const auto& [start, end, label] : segments) key.insert(key.end(), {start, end, label});
    return key;
  };
  for (const Spans& segments : all) {
    problem.structures.push_back(places(problem, segments));
    by_segments[key(segments)] = problem.structures.back();
  }
  problem.log_partition = [=](ComputationGraph& graph) {
    return crf.log_partition(spans.scores(graph));
  };
  problem.loss = [=](ComputationGraph& graph, std::size_t i) {
    return crf.loss(spans.scores(graph), all[i]);
  };
  problem.best = [=](ComputationGraph& graph) {
    return by_segments.at(key(crf.best(spans.scores(graph))));
  };
  return problem;
}

TEST(StructuredEdgesTest, Segmentations) {
  for (const unsigned labels : {1u, 2u}) {
    for (const unsigned longest : {1u, 2u, 5u}) {
      for (const unsigned words : {1u, 2u, 4u}) {
        SCOPED_TRACE(std::to_string(labels) + " labels, " + std::to_string(words) + " words, " +
                     std::to_string(longest));
        check([&](DType dtype) { return segment_problem(words, labels, longest, dtype); });
      }
    }
  }
}

Problem span_problem(unsigned words, unsigned labels, DType dtype) {
  Problem problem(dtype);
  const SpanParameters spans(problem, words, labels, words);
  const std::vector<Spans> all = all_span_trees(0, words, labels);
  const auto places = [=](const Spans& tree) {
    Places result;
    for (const LabelledSpan& each : tree) result.push_back(spans.place(each));
    return result;
  };
  for (const Spans& tree : all) problem.structures.push_back(places(tree));
  problem.log_partition = [=](ComputationGraph& graph) {
    return span_log_partition(spans.scores(graph));
  };
  problem.loss = [=](ComputationGraph& graph, std::size_t i) {
    const Spans backwards(all[i].rbegin(), all[i].rend());  // in any order
    return span_loss(spans.scores(graph), backwards);
  };
  problem.best = [=](ComputationGraph& graph) { return places(best_spans(spans.scores(graph))); };
  problem.slopes_of_nothing = Slopes::numbers;
  return problem;
}

TEST(StructuredEdgesTest, TreesOfSpans) {
  for (const unsigned labels : {1u, 2u}) {
    for (const unsigned words : {1u, 2u, 4u}) {
      SCOPED_TRACE(std::to_string(labels) + " labels, " + std::to_string(words) + " words");
      check([&](DType dtype) { return span_problem(words, labels, dtype); });
    }
  }
}

// --------------------------------------------------------------------------- dependency trees

using LogPartition = Expression (*)(const Expression&, Roots);
using TreeLoss = Expression (*)(const Expression&, std::span<const unsigned>, Roots);
using Decode = Numbers (*)(const Tensor&, Roots);

/// Scores of words to themselves are not read.
Problem tree_problem(unsigned words, const std::vector<Heads>& trees, Roots roots,
                     LogPartition log_partition, TreeLoss loss, Decode decode, DType dtype) {
  Problem problem(dtype);
  const Parameter scores = problem.add({words + 1, words}, "scores");
  const auto places = [](const Heads& heads) {
    Places result;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      result.push_back(heads[i] + (heads.size() + 1) * i);
    }
    return result;
  };
  for (const Heads& heads : trees) problem.structures.push_back(places(heads));
  for (std::size_t i = 0; i < words; ++i) problem.not_read.push_back(i + 1 + (words + 1) * i);
  problem.log_partition = [=](ComputationGraph& graph) {
    return log_partition(parameter(graph, scores), roots);
  };
  problem.loss = [=](ComputationGraph& graph, std::size_t i) {
    return loss(parameter(graph, scores), trees[i], roots);
  };
  problem.best = [=](ComputationGraph& graph) {
    return places(decode(parameter(graph, scores).value(), roots));
  };
  return problem;
}

TEST(StructuredEdgesTest, ProjectiveTrees) {
  for (const Roots roots : {Roots::one, Roots::any}) {
    for (const unsigned words : {1u, 2u, 3u, 5u}) {
      SCOPED_TRACE(words);
      check(
          [&](DType dtype) {
            return tree_problem(words, all_projective_trees(words, roots), roots,
                                projective_log_partition, projective_tree_loss, eisner, dtype);
          },
          false);
    }
  }
}

TEST(StructuredEdgesTest, AllTrees) {
  for (const Roots roots : {Roots::one, Roots::any}) {
    for (const unsigned words : {1u, 2u, 3u, 5u}) {
      SCOPED_TRACE(words);
      check(
          [&](DType dtype) {
            Problem problem =
                tree_problem(words, all_trees(words, roots), roots, matrix_tree_log_partition,
                             matrix_tree_loss, chu_liu_edmonds, dtype);
            problem.slopes_of_nothing = Slopes::any;
            return problem;
          },
          false);
    }
  }
}

}  // namespace
}  // namespace dynet_like::nn
