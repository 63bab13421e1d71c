// A program with `using namespace dynet_like` may give its own classes the names that come to mind.
#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "nn/data.h"
#include "nn/nn.h"
#include "nn/train.h"

// clang-format off
#define USER_NAMES(X) \
  X(Action) X(Agent) X(Alignment) X(Arc) X(Arena) X(Argument) X(Array) X(Axis) X(Batch) X(Beam) \
  X(Block) X(Bucket) X(Buffer) X(Cache) X(Candidate) X(Cell) X(Chain) X(Chart) X(Choice) X(Chunk) \
  X(Class) X(Cluster) X(Config) X(Context) X(Corpus) X(Counter) X(Data) X(Dataset) X(Decoder) \
  X(Dictionary) X(Document) X(Edge) X(Element) X(Elements) X(Embedding) X(Encoder) X(Entity) \
  X(Entry) X(Epoch) X(Error) X(Example) X(Executor) X(Feature) X(Fiber) X(Field) X(File) X(Filter) \
  X(Forest) X(Forward) X(Backward) X(Frame) X(Gate) X(Grammar) X(Graph) X(Group) X(Head) \
  X(Hypothesis) X(Identity) X(Index) X(Input) X(Instance) X(Item) X(Join) X(Kernel) X(Kernels) \
  X(Key) X(Label) X(Layer) X(Lexicon) X(Line) X(Link) X(List) X(Loss) X(Map) X(Mask) X(Matrix) \
  X(Memory) X(Message) X(Metric) X(Model) X(Module) X(Needs) X(Network) X(Ngram) X(Node) X(NodeId) \
  X(Numbers) X(Op) X(Operand) X(Optimizer) X(Option) X(Options) X(Output) X(Pair) X(Parser) X(Part) \
  X(Path) X(Phrase) X(Position) X(Prediction) X(Queue) X(Range) X(Record) X(Relation) X(Result) \
  X(Reward) X(Row) X(Rule) X(Run) X(Sample) X(Score) X(Sentence) X(Sequence) X(Shape) X(Signature) \
  X(Slot) X(Span) X(Split) X(Stack) X(State) X(Step) X(Stretch) X(Sum) X(Symbol) X(Table) X(Tag) \
  X(Tagger) X(Tape) X(Target) X(Task) X(Text) X(Token) X(Transition) X(Tree) X(Turn) X(Type) \
  X(TypeId) X(Unit) X(Update) X(Updates) X(Value) X(ValueId) X(Vector) X(Vocabulary) X(Weights) \
  X(Window) X(Word) X(Workspace)
// clang-format on

using namespace dynet_like;

#define DEFINE(Name) \
  struct Name {      \
    int number = 1;  \
  };
USER_NAMES(DEFINE)

namespace {

int count_of_names() {
  int count = 0;
#define USE(Name) count += Name().number;
  USER_NAMES(USE)
  return count;
}

TEST(UserNames, NoneOfThemIsTaken) { EXPECT_GE(count_of_names(), 100); }

TEST(UserNames, StandBesideTheLibrarys) {
  struct Tree {
    Node node;
    std::vector<Tree> children;
  };
  const std::vector<Tree> trees(3);
  ParameterCollection parameters;
  const nn::Linear layer(parameters, 2, 1);
  Minibatch batch;
  for (const Tree& tree : trees) {
    ComputationGraph& graph = batch.new_graph();
    const auto number = static_cast<float>(tree.node.number);
    batch.add_loss(sum_elems(layer(input(graph, {2}, {number, number}))));
  }
  EXPECT_NE(batch.forward(), 0);
}

}  // namespace
