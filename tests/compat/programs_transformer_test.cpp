// Attention with several heads, masks and positions, in the style of Transformers for DyNet.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/training.h>
#include <gtest/gtest.h>

using namespace std;
using namespace dynet;

namespace {

struct Config {
  unsigned nheads = 2, nunits = 8, nlayers = 2, vocab = 10;
  float dropout_rate = 0.f;
  bool is_training = true;
};

Expression make_time_distributed(const Expression& x) {
  auto d = x.dim();
  return d.batch_elems() == 1 ? x : reshape(x, Dim({d[0], d.batch_elems() * d[1]}));
}
Expression make_reverse_time_distributed(const Expression& x, unsigned seq_len, unsigned b) {
  return reshape(x, Dim({x.dim()[0], seq_len}, b));
}

struct LinearLayer {
  LinearLayer(ParameterCollection* mod, unsigned in, unsigned out)
      : p_W(mod->add_parameters({out, in})),
        p_b(mod->add_parameters({out}, ParameterInitConst(0.f))) {}
  Expression apply(ComputationGraph& cg, const Expression& x) {
    Expression y =
        affine_transform({parameter(cg, p_b), parameter(cg, p_W), make_time_distributed(x)});
    return make_reverse_time_distributed(y, x.dim()[1], x.dim().batch_elems());
  }
  Parameter p_W, p_b;
};

// With operations on dimensions: mean, deviation, broadcasts.
Expression layer_norm_colwise(const Expression& x, const Expression& g, const Expression& b) {
  const unsigned rows = x.dim()[0], cols = x.dim()[1];
  Expression mu = reshape(mean_dim(x, {0}), Dim({1, cols}, x.dim().bd));
  Expression sigma = reshape(std_dim(x, {0}), Dim({1, cols}, x.dim().bd));
  Expression centred = x - concatenate(vector<Expression>(rows, mu));
  Expression scaled = cdiv(centred, concatenate(vector<Expression>(rows, sigma + 1e-6)));
  return colwise_add(cmult(concatenate_cols(vector<Expression>(cols, g)), scaled), b);
}

struct MultiHeadAttention {
  MultiHeadAttention(ParameterCollection* mod, Config& config)
      : q(mod, config.nunits, config.nunits),
        k(mod, config.nunits, config.nunits),
        v(mod, config.nunits, config.nunits),
        o(mod, config.nunits, config.nunits),
        scale(1.f / sqrt(config.nunits / config.nheads)),
        p_config(&config) {}

  vector<Expression> split_rows(const Expression& x) {
    auto& d = x.dim();
    auto steps = d[0] / p_config->nheads;
    vector<Expression> parts;
    for (unsigned i = 0; i < d[0]; i += steps) parts.push_back(pick_range(x, i, i + steps));
    return parts;
  }
  vector<Expression> split_batch(const Expression& x) {
    unsigned size = x.dim().batch_elems() / p_config->nheads;
    vector<Expression> parts;
    for (unsigned h = 0; h < p_config->nheads; ++h) {
      vector<unsigned> elems(size);
      iota(elems.begin(), elems.end(), h * size);
      parts.push_back(pick_batch_elems(x, elems));
    }
    return parts;
  }

  Expression build(ComputationGraph& cg, const Expression& x) {
    Expression Q = concatenate_to_batch(split_rows(q.apply(cg, x)));
    Expression K = concatenate_to_batch(split_rows(k.apply(cg, x)));
    Expression V = concatenate_to_batch(split_rows(v.apply(cg, x)));
    Expression att = (transpose(K) * Q) * scale;
    unsigned l = x.dim()[1];
    vector<float> mask(l * l, 0.f);
    for (unsigned i = 0; i < l; ++i) {
      for (unsigned j = i + 1; j < l; ++j) mask[i * l + j] = -numeric_limits<float>::infinity();
    }
    att = softmax(att + input(cg, {l, l}, mask));
    if (p_config->is_training) att = dropout_dim(att, 1, p_config->dropout_rate);
    return o.apply(cg, concatenate(split_batch(V * att)));
  }

  LinearLayer q, k, v, o;
  float scale;
  Config* p_config;
};

struct Layer {
  Layer(ParameterCollection* mod, Config& config)
      : attention(mod, config),
        inner(mod, config.nunits, 4 * config.nunits),
        outer(mod, 4 * config.nunits, config.nunits),
        g(mod->add_parameters({config.nunits}, ParameterInitConst(1.f))),
        b(mod->add_parameters({config.nunits}, ParameterInitConst(0.f))) {}
  Expression build(ComputationGraph& cg, const Expression& x) {
    Expression y =
        layer_norm_colwise(x + attention.build(cg, x), parameter(cg, g), parameter(cg, b));
    return y + outer.apply(cg, silu(inner.apply(cg, y)));
  }
  MultiHeadAttention attention;
  LinearLayer inner, outer;
  Parameter g, b;
};

struct TransformerLModel {
  explicit TransformerLModel(Config& c) : config(c), mod(new ParameterCollection()) {
    p_embed = mod->add_lookup_parameters(config.vocab, {config.nunits});
    for (unsigned l = 0; l < config.nlayers; ++l) layers.push_back(Layer(mod.get(), config));
  }

  Expression positions(ComputationGraph& cg, unsigned length) {
    const float timescales = config.nunits / 2;
    vector<float> signal(config.nunits * length);
    for (unsigned p = 0; p < length; ++p) {
      for (int i = 0; i < timescales; ++i) {
        float v = p * exp(i * -log(10000.f) / (timescales - 1.f));
        signal[p * config.nunits + i] = sin(v);
        signal[p * config.nunits + timescales + i] = cos(v);
      }
    }
    return input(cg, {config.nunits, length}, signal);
  }

  // Logits of every next word: {vocab, length} x batch.
  Expression logits(ComputationGraph& cg, const vector<vector<unsigned>>& sents) {
    vector<Expression> columns;
    for (unsigned t = 0; t < sents[0].size(); ++t) {
      vector<unsigned> ids;
      for (auto& sent : sents) ids.push_back(sent[t]);
      columns.push_back(lookup(cg, p_embed, ids));
    }
    Expression x = concatenate_cols(columns) * sqrt(config.nunits);
    x = x + positions(cg, sents[0].size());
    for (auto& layer : layers) x = layer.build(cg, x);
    Expression y = transpose(parameter(cg, p_embed)) * make_time_distributed(x);
    return make_reverse_time_distributed(y, sents[0].size(), sents.size());
  }

  Expression loss(ComputationGraph& cg, const vector<vector<unsigned>>& sents) {
    Expression all = logits(cg, sents);
    vector<Expression> errs;
    for (unsigned t = 0; t + 1 < sents[0].size(); ++t) {
      vector<unsigned> next;
      for (auto& sent : sents) next.push_back(sent[t + 1]);
      errs.push_back(pickneglogsoftmax(pick(all, t, 1), next));
    }
    return sum_batches(sum(errs)) / (float)sents.size();
  }

  Config config;
  unique_ptr<ParameterCollection> mod;
  LookupParameter p_embed;
  vector<Layer> layers;
};

const vector<vector<unsigned>> kSentences = {{0, 3, 1, 4, 1, 5}, {0, 9, 2, 6, 5, 3}};

class CompatTransformerTest : public testing::Test {
 protected:
  CompatTransformerTest() { reset_rng(1); }
  Config config;
};

TEST_F(CompatTransformerTest, WordsDoNotSeeTheFuture) {
  TransformerLModel model(config);
  ComputationGraph cg;
  vector<unsigned> changed = kSentences[0];
  changed[4] = 7;
  Expression before = model.logits(cg, {kSentences[0]}), after = model.logits(cg, {changed});
  for (unsigned t = 0; t < 6; ++t) {
    const auto a = as_vector(pick(before, t, 1).value()), b = as_vector(pick(after, t, 1).value());
    EXPECT_EQ(a == b, t < 4) << t;
  }
}

TEST_F(CompatTransformerTest, MinibatchesAreTheirSentences) {
  TransformerLModel model(config);
  ComputationGraph cg;
  Expression both = model.logits(cg, kSentences);
  EXPECT_EQ(both.dim(), Dim({config.vocab, 6}, 2));
  for (unsigned i = 0; i < 2; ++i) {
    const auto alone = as_vector(model.logits(cg, {kSentences[i]}).value());
    const auto batched = as_vector(pick_batch_elem(both, i).value());
    for (size_t k = 0; k < alone.size(); ++k) EXPECT_NEAR(batched[k], alone[k], 1e-5);
  }
}

TEST_F(CompatTransformerTest, Learns) {
  config.dropout_rate = 0.1f;
  TransformerLModel model(config);
  AdamTrainer trainer(*model.mod, 0.005f, 0.9f, 0.98f, 1e-9f);
  float loss = 0;
  for (unsigned step = 0; step < 150; ++step) {
    trainer.learning_rate = 0.005f * min(1.f, (step + 1) / 20.f);
    ComputationGraph cg;
    Expression l = model.loss(cg, kSentences);
    loss = as_scalar(cg.forward(l));
    cg.backward(l);
    trainer.update();
  }
  EXPECT_LT(loss, 3);  // five words each; 11.5 of the uniform distribution
}

}  // namespace
