// An encoder-decoder with attention, its minibatches, and beam search, in the style of
// programs for DyNet.
#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/gru.h>
#include <dynet/lstm.h>
#include <dynet/training.h>
#include <gtest/gtest.h>

using namespace std;
using namespace dynet;

namespace {

const unsigned LAYERS = 2, DIM = 8, HIDDEN = 12, VOCAB = 8;
const int BOS = 0, EOS = 1;
using Words = vector<int>;

template <class Builder>
struct EncoderDecoder {
  LookupParameter p_c, p_ec;
  Parameter p_R, p_bias, p_ia2h, p_Wa, p_Ua, p_va;
  Builder dec_builder, rev_enc_builder, fwd_enc_builder;
  Expression src, i_Uahj;
  unsigned slen = 0;

  explicit EncoderDecoder(ParameterCollection& model)
      : dec_builder(LAYERS, DIM + 2 * HIDDEN, HIDDEN, model),
        rev_enc_builder(LAYERS, DIM, HIDDEN, model),
        fwd_enc_builder(LAYERS, DIM, HIDDEN, model) {
    p_c = model.add_lookup_parameters(VOCAB, {DIM});
    p_ec = model.add_lookup_parameters(VOCAB, {DIM});
    p_R = model.add_parameters({VOCAB, HIDDEN});
    p_bias = model.add_parameters({VOCAB});
    p_ia2h = model.add_parameters({(unsigned)(HIDDEN * LAYERS), unsigned(HIDDEN * LAYERS * 2)});
    p_Wa = model.add_parameters({HIDDEN, HIDDEN});
    p_Ua = model.add_parameters({HIDDEN, 2 * HIDDEN});
    p_va = model.add_parameters({HIDDEN});
  }

  Expression words_at(const vector<Words>& sents, LookupParameter p, unsigned t,
                      ComputationGraph& cg) {
    vector<unsigned> ids(sents.size());
    for (unsigned b = 0; b < sents.size(); ++b) ids[b] = t < sents[b].size() ? sents[b][t] : EOS;
    return lookup(cg, p, ids);
  }

  // Sources of one length.
  void encode(const vector<Words>& sents, ComputationGraph& cg) {
    slen = sents[0].size();
    vector<Expression> fwd(slen), rev(slen), cols(slen), ends;
    fwd_enc_builder.new_graph(cg);
    fwd_enc_builder.start_new_sequence();
    for (unsigned t = 0; t < slen; ++t) {
      fwd[t] = fwd_enc_builder.add_input(words_at(sents, p_ec, t, cg));
    }
    rev_enc_builder.new_graph(cg);
    rev_enc_builder.start_new_sequence();
    for (int t = slen - 1; t >= 0; --t) {
      rev[t] = rev_enc_builder.add_input(words_at(sents, p_ec, t, cg));
    }
    for (unsigned t = 0; t < slen; ++t) cols[t] = concatenate({fwd[t], rev[t]});
    src = concatenate_cols(cols);
    i_Uahj = parameter(cg, p_Ua) * src;
    for (auto h : fwd_enc_builder.final_h()) ends.push_back(h);
    for (auto h : rev_enc_builder.final_h()) ends.push_back(h);
    Expression all = tanh(parameter(cg, p_ia2h) * concatenate(ends));
    vector<Expression> c, h;
    for (unsigned i = 0; i < LAYERS; ++i) {
      h.push_back(pickrange(all, i * HIDDEN, (i + 1) * HIDDEN));
      c.push_back(tanh(h[i]));
    }
    if (dec_builder.num_h0_components() == 2 * LAYERS) h.insert(h.begin(), c.begin(), c.end());
    dec_builder.new_graph(cg);
    dec_builder.start_new_sequence(h);
  }

  Expression scores(RNNPointer prev, Expression word, ComputationGraph& cg) {
    Expression i_wah = parameter(cg, p_Wa) * dec_builder.get_h(prev).back();
    Expression i_wah_rep = concatenate_cols(vector<Expression>(slen, i_wah));
    Expression i_e_t = transpose(tanh(i_wah_rep + i_Uahj)) * parameter(cg, p_va);
    Expression context = src * softmax(i_e_t);
    Expression in = concatenate(vector<Expression>({word, context}));
    Expression h = dec_builder.add_input(prev, in);
    return affine_transform({parameter(cg, p_bias), parameter(cg, p_R), h});
  }

  // Targets of any lengths: what is behind their ends has no loss.
  Expression loss(const vector<Words>& in, const vector<Words>& out, ComputationGraph& cg) {
    encode(in, cg);
    size_t longest = 0;
    for (auto& words : out) longest = max(longest, words.size());
    vector<Expression> errs;
    RNNPointer prev = dec_builder.state();
    for (unsigned t = 1; t < longest; ++t) {
      vector<unsigned> next(out.size());
      vector<float> mask(out.size());
      for (unsigned b = 0; b < out.size(); ++b) {
        mask[b] = t < out[b].size() ? 1.f : 0.f;
        next[b] = t < out[b].size() ? out[b][t] : EOS;
      }
      Expression r = scores(prev, words_at(out, p_c, t - 1, cg), cg);
      prev = dec_builder.state();
      Expression err = pickneglogsoftmax(r, next);
      errs.push_back(cmult(err, input(cg, Dim({1}, out.size()), mask)));
    }
    return sum_batches(sum(errs));
  }
};

struct Hypothesis {
  RNNPointer state;
  float score;
  Words words;
};

template <class Builder>
Hypothesis beam_search(EncoderDecoder<Builder>& model, const Words& source, unsigned beam_size,
                       ComputationGraph& cg) {
  model.encode({source}, cg);
  vector<Hypothesis> beam = {{model.dec_builder.state(), 0, {BOS}}};
  for (unsigned t = 0; t < 8; ++t) {
    vector<Hypothesis> next;
    for (auto& hyp : beam) {
      if (hyp.words.back() == EOS) {
        next.push_back(hyp);
        continue;
      }
      Expression word = lookup(cg, model.p_c, (unsigned)hyp.words.back());
      Expression logprob = log(softmax(model.scores(hyp.state, word, cg)));
      vector<float> dist = as_vector(cg.incremental_forward(logprob));
      for (auto w : as_vector(TensorTools::argmax(logprob.value(), 0, beam_size))) {
        Hypothesis longer{model.dec_builder.state(), hyp.score + dist[w], hyp.words};
        longer.words.push_back(w);
        next.push_back(longer);
      }
    }
    sort(next.begin(), next.end(), [](auto& a, auto& b) { return a.score > b.score; });
    if (next.size() > beam_size) next.resize(beam_size);
    beam = next;
  }
  return beam[0];
}

const vector<Words> kSources = {{2, 3, 4}, {4, 3, 5}, {7, 2, 2}};
const vector<Words> kTargets = {{BOS, 4, 3, 2, EOS}, {BOS, 5, EOS}, {BOS, 2, 7, EOS}};

template <class Builder>
struct CompatTranslationTest : testing::Test {
  CompatTranslationTest() { reset_rng(1); }

  ParameterCollection model;
  EncoderDecoder<Builder> translator{model};
};

using Builders = testing::Types<LSTMBuilder, GRUBuilder>;
TYPED_TEST_SUITE(CompatTranslationTest, Builders);

TYPED_TEST(CompatTranslationTest, LearnsAndTranslates) {
  unique_ptr<Trainer> trainer(new AdamTrainer(this->model, 0.02f));
  for (unsigned epoch = 0; epoch < 150; ++epoch) {
    ComputationGraph cg;
    Expression loss = this->translator.loss(kSources, kTargets, cg);
    cg.forward(loss);
    cg.backward(loss);
    trainer->update();
  }
  for (size_t i = 0; i < kSources.size(); ++i) {
    ComputationGraph cg;
    EXPECT_EQ(beam_search(this->translator, kSources[i], 3, cg).words, kTargets[i]);
  }
}

// A minibatch with masks is the sum of its sentences.
TYPED_TEST(CompatTranslationTest, MinibatchesAreTheirSentences) {
  ComputationGraph together;
  const float all =
      as_scalar(together.forward(this->translator.loss(kSources, kTargets, together)));
  float sum = 0;
  for (size_t i = 0; i < kSources.size(); ++i) {
    ComputationGraph cg;
    sum += as_scalar(cg.forward(this->translator.loss({kSources[i]}, {kTargets[i]}, cg)));
  }
  EXPECT_NEAR(all, sum, 1e-4f * sum);
}

// What the search adds up is the loss of its translation.
TYPED_TEST(CompatTranslationTest, BeamsScoreWhatLossesSay) {
  for (unsigned beam_size : {1u, 4u}) {
    ComputationGraph cg, other;
    const Hypothesis best = beam_search(this->translator, kSources[0], beam_size, cg);
    Expression loss = this->translator.loss({kSources[0]}, {best.words}, other);
    EXPECT_NEAR(-as_scalar(loss.value()), best.score, 1e-4);
  }
}

}  // namespace
