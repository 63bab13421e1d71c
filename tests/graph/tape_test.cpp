// The tape and its types: equal types for equal keys only, whatever the caches have forgotten.
#include <tuple>

#include "dynet_like/core/handles.h"
#include "dynet_like/core/random.h"
#include "dynet_like/ops/elementwise.h"
#include "dynet_like/ops/structured.h"
#include "dynet_like/tape/views.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

TEST(StableListTest, NeverMovesElements) {
  StableList<int> list;
  std::vector<const int*> places;
  for (int i = 0; i < 5000; ++i) {
    list.append() = i;
    places.push_back(&list[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(list.size(), 5000u);
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(&list[i], places[i]);
    EXPECT_EQ(list[i], static_cast<int>(i));
  }
  list.clear();
  EXPECT_EQ(list.size(), 0u);
  list.append() = 7;
  EXPECT_EQ(list[0], 7);
}

TEST(KnownParametersTest, FindsWhatWasAddedAndNotReverted) {
  const std::vector<int> objects(300);
  const auto parameter = [&](std::uint32_t i) {
    return reinterpret_cast<const ParameterStorage*>(&objects[i]);
  };
  KnownParameters known;
  for (std::uint32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(known.find(parameter(i), false), KnownParameters::kNone);
    known.add(parameter(i), i % 3 == 0, i);
  }
  known.revert(200);
  for (std::uint32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(known.find(parameter(i), i % 3 == 0), i < 200 ? i : KnownParameters::kNone);
    EXPECT_EQ(known.find(parameter(i), i % 3 != 0), KnownParameters::kNone);
  }
  known.revert(0);
  EXPECT_EQ(known.find(parameter(0), true), KnownParameters::kNone);
}

TEST(HandleSlotTest, TellsHandlesOfThePresentGraphEvenIfNumbersWrapAround) {
  HandleSlot slot;
  slot.generation = slot.first_generation = ~std::uint32_t{0} - 2;
  const std::uint32_t old = slot.generation;
  slot.start_anew();
  const std::uint32_t first = slot.generation;
  for (int reverts = 0; reverts < 5; ++reverts) {
    EXPECT_TRUE(slot.is_alive(first));
    EXPECT_TRUE(slot.is_alive(slot.generation));
    EXPECT_FALSE(slot.is_alive(old));
    EXPECT_FALSE(slot.is_alive(slot.generation + 1));
    ++slot.generation;
  }
  slot.start_anew();
  EXPECT_FALSE(slot.is_alive(first));
}

// A tape by itself.
struct Record {
  std::shared_ptr<TypeTable> types = std::make_shared<TypeTable>();
  TypeCache cache{*types};
  TapeWriter writer{types, cache, DType::f32};
  const Tape& tape = writer.tape();

  ValueId input(const Dim& dim) {
    return writer.add_input(dim, std::vector<float>(dim.size(), 1.0f));
  }
  const NodeType& type_of(ValueId value) { return tape.type_of(tape.value(value).node); }
};

// Far more types than a cache has places, asked for in any order: many share a place.
TEST(TapeTest, NodesHaveEqualTypesIfAndOnlyIfTheirKeysAreEqual) {
  Record record;
  ParameterCollection model;
  std::vector<ValueId> matrices, vectors, derived;
  std::vector<Parameter> parameters;
  for (unsigned i = 0; i < 300; ++i) parameters.push_back(model.add_parameters({6, 5}));
  for (const Parameter& p : parameters) {
    matrices.push_back(record.writer.add_parameter(*p.p, false));
    matrices.push_back(record.writer.add_parameter(*p.p, true));
    derived.push_back(
        record.writer.add(elementwise<formulas::Tanh>, std::span(&matrices.back(), 1)));
  }
  for (unsigned n = 1; n <= 60; ++n) vectors.push_back(record.input(Dim({n})));
  const ValueId x = record.input(Dim({5}));
  // By op, then by what distinguishes its nodes.
  using Key = std::tuple<const Op*, std::uint64_t, std::uint64_t, std::uint64_t>;
  std::map<Key, TypeId> type_of_key;
  std::map<TypeId, Key> key_of_type;
  Random random(1);
  const auto check = [&](const Key& key, ValueId value) {
    const TypeId type = record.type_of(value).id;
    EXPECT_EQ(type_of_key.emplace(key, type).first->second, type);
    EXPECT_EQ(key_of_type.emplace(type, key).first->second, key);
    EXPECT_EQ(record.type_of(value).op, std::get<0>(key));
  };
  for (int i = 0; i < 60000; ++i) {
    const std::uint32_t a = random.below(60), b = random.below(60);
    const std::uint32_t m = random.below(600), e = random.below(300);
    const ValueId product[] = {matrices[m], x}, other[] = {derived[e], x};
    const ValueId pair[] = {vectors[a], vectors[b]}, sum[] = {matrices[m], derived[e]};
    const std::uint32_t dimension[] = {b % 7};
    check({&ops::matrix_product, record.tape.value(product[0]).identity, 0, 0},
          record.writer.add(ops::matrix_product, product));
    check({&ops::matrix_product, record.tape.value(other[0]).identity, 0, 0},
          record.writer.add(ops::matrix_product, other));
    check({&ops::concatenate, a + 1, b + 1, 0},
          record.writer.add(ops::concatenate, pair, std::vector<std::uint32_t>{0}));
    // Stacked inputs: which parameters they come from does not count.
    check({&elementwise<formulas::Add>, 0, 0, 0},
          record.writer.add(elementwise<formulas::Add>, sum));
    check({&ops::softmax, a + 1, 0, 0}, record.writer.add(ops::softmax, std::span(&vectors[a], 1),
                                                          std::vector<std::uint32_t>{0}));
    if (dimension[0] < 2) {
      check({&ops::sum_dim, 0, dimension[0], 0},
            record.writer.add(ops::sum_dim, std::span(&matrices[m], 1), dimension));
    }
  }
  EXPECT_GT(type_of_key.size(), 3000u);
}

TEST(TapeTest, RangesAreFoundAgainWhateverTheirLengths) {
  Record record;
  const ValueId x = record.input(Dim({640})), columns = record.input(Dim({64, 10}));
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t length = 1; length <= 640; ++length) {
      const std::uint32_t start = 640 - length;
      const ValueId id = pick_range(record.writer, x, std::span(&start, 1), length, 0);
      EXPECT_EQ(record.tape.dim_of(id), Dim({length}));
      EXPECT_EQ(record.tape.value(id).offset, start);
      const std::uint32_t beyond = start + 1;
      EXPECT_THROW(pick_range(record.writer, x, std::span(&beyond, 1), length, 0), ShapeError);
    }
    for (std::uint32_t column = 0; column < 10; ++column) {
      const ValueId id = pick(record.writer, columns, std::span(&column, 1), 1);
      EXPECT_EQ(record.tape.dim_of(id), Dim({64}));
      EXPECT_EQ(record.tape.value(id).offset, 64 * column);
    }
  }
  EXPECT_EQ(record.tape.size(), 2u);
}

TEST(TapeTest, GoesOnAfterAnError) {
  Record record;
  const ValueId a = record.input(Dim({3})), b = record.input(Dim({4}));
  const ValueId pair[] = {a, b}, same[] = {a, a};
  const std::uint32_t classes[] = {1, 2}, large = 3;
  for (int round = 0; round < 3; ++round) {
    const std::size_t nodes = record.tape.size(), edges = record.tape.edges().size();
    EXPECT_THROW(record.writer.add(elementwise<formulas::Add>, pair), ShapeError);
    EXPECT_THROW(
        record.writer.add(ops::cross_entropy, std::span(&a, 1), {}, {std::span(&large, 1)}),
        UsageError);
    EXPECT_THROW(record.writer.add(ops::cross_entropy, std::span(&a, 1)), UsageError);
    EXPECT_EQ(record.tape.size(), nodes);
    EXPECT_EQ(record.tape.edges().size(), edges);
    const ValueId sum = record.writer.add(elementwise<formulas::Add>, same);
    const ValueId losses = record.writer.add(ops::cross_entropy, std::span(&sum, 1), {}, {classes});
    EXPECT_EQ(record.tape.dim_of(losses), Dim({1}, 2));
    const NodeId node = record.tape.value(losses).node;
    EXPECT_EQ(record.tape.inputs_of(node)[0], sum);
    EXPECT_EQ(record.tape.integers_of(node)[1], 2u);
  }
}

TEST(TypeTableTest, ForgetsWhenItHasGrownLarge) {
  auto graph = std::make_unique<ComputationGraph>();
  std::size_t most = 0, rounds = 0;
  for (bool forgotten = false; !forgotten && rounds < 100; ++rounds) {
    for (unsigned i = 1; i <= 2000; ++i) {
      const unsigned n = 2000 * static_cast<unsigned>(rounds) + i;
      const Expression x = ones(*graph, Dim({n}));
      EXPECT_EQ(pick_range(x, 0, n).dim(), Dim({n}));
    }
    const std::size_t count = graph->record().tape().types().type_count();
    forgotten = count < most;
    most = std::max(most, count);
    graph->clear();
  }
  EXPECT_LT(rounds, 50u);
  EXPECT_EQ(as_scalar(sum_elems(tanh(zeros(*graph, Dim({3})))).value()), 0.0f);
}

// A graph that is cleared before anything is recorded says nothing of how large others are.
TEST(TypeTableTest, KeepsWhatLargeGraphsNeedBesideSmallOnes) {
  ComputationGraph graph;
  std::size_t entries = 0;
  for (unsigned round = 0; round < 4; ++round) {
    graph.clear();
    for (unsigned n = 1; n <= 8000; ++n) tanh(ones(graph, Dim({n})));
    if (round == 0) entries = graph.record().tape().types().size();
    ASSERT_GT(entries, std::size_t{1} << 14);
    graph.clear();
    EXPECT_EQ(graph.record().tape().types().size(), entries) << round;
  }
}

}  // namespace
}  // namespace dynet_like
