// Post-processors from their entries: all are templates and trimmings.
#include "nn/text/components.h"

namespace dynet_like::nn::text {

namespace {

using ReadPostProcessor = void (*)(const JsonEntry&, PostProcessor&, bool&);

void add_post_processor(const JsonEntry& entry, PostProcessor& processor, bool& has_template);

void set_template(const JsonEntry& entry, PostProcessor& processor, bool& has_template,
                  Template single, Template pair) {
  if (has_template) entry.fail("need at most one component that adds tokens");
  has_template = true;
  processor.single = std::move(single);
  processor.pair = std::move(pair);
}

/// ["[SEP]", 102]
TemplateItem read_token(const JsonEntry& entry, std::uint32_t segment) {
  TemplateItem item = {-1, {}, segment};
  std::size_t place = 0;
  entry.each_item([&](const JsonEntry& part) {
    if (place++ == 1) item.ids.push_back(part.id());
  });
  if (place != 2) entry.need("a token and its id");
  return item;
}

void read_bert(const JsonEntry& entry, PostProcessor& processor, bool& has_template) {
  entry.allow({"type", "sep", "cls"});
  const TemplateItem cls = read_token(entry.at("cls"), 0), sep = read_token(entry.at("sep"), 0);
  const TemplateItem last = {-1, sep.ids, 1};
  set_template(entry, processor, has_template, {cls, {0, {}, 0}, sep},
               {cls, {0, {}, 0}, sep, {1, {}, 1}, last});
}

void read_roberta(const JsonEntry& entry, PostProcessor& processor, bool& has_template) {
  entry.allow({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
  const TemplateItem cls = read_token(entry.at("cls"), 0), sep = read_token(entry.at("sep"), 0);
  if (entry.at("trim_offsets").flag()) {
    processor.trimmings.push_back({entry.at("add_prefix_space").flag()});
  }
  set_template(entry, processor, has_template, {cls, {0, {}, 0}, sep},
               {cls, {0, {}, 0}, sep, sep, {1, {}, 0}, sep});
}

void read_byte_level(const JsonEntry& entry, PostProcessor& processor, bool&) {
  entry.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  if (entry.at("trim_offsets").flag()) {
    processor.trimmings.push_back({entry.at("add_prefix_space").flag()});
  }
}

Template read_template(const JsonEntry& list, const JsonEntry& tokens, bool is_pair) {
  Template items;
  std::size_t texts = 0;
  list.each_item([&](const JsonEntry& item) {
    item.allow({"Sequence", "SpecialToken"});
    if (const auto text = item.find("Sequence")) {
      const int which = text->at("id").choice<int>({{"A", 0}, {"B", is_pair ? 1 : -1}});
      if (which < 0) text->fail("need the text A in a template of one text; got B");
      constexpr std::size_t kMostTexts = 8;
      if (++texts > kMostTexts) list.fail("need at most 8 texts in a template; got more");
      items.push_back({which, {}, text->at("type_id").id()});
      return;
    }
    const JsonEntry token = item.at("SpecialToken");
    TemplateItem added = {-1, {}, token.at("type_id").id()};
    tokens.at(token.at("id").text()).at("ids").each_item([&](const JsonEntry& id) {
      added.ids.push_back(id.id());
    });
    items.push_back(std::move(added));
  });
  return items;
}

void read_templates(const JsonEntry& entry, PostProcessor& processor, bool& has_template) {
  entry.allow({"type", "single", "pair", "special_tokens"});
  const JsonEntry tokens = entry.at("special_tokens");
  set_template(entry, processor, has_template, read_template(entry.at("single"), tokens, false),
               read_template(entry.at("pair"), tokens, true));
}

void read_sequence(const JsonEntry& entry, PostProcessor& processor, bool& has_template) {
  entry.allow({"type", "processors"});
  entry.at("processors").each_item([&](const JsonEntry& item) {
    add_post_processor(item, processor, has_template);
  });
}

void add_post_processor(const JsonEntry& entry, PostProcessor& processor, bool& has_template) {
  component<ReadPostProcessor>(entry, {{"BertProcessing", read_bert},
                                       {"RobertaProcessing", read_roberta},
                                       {"ByteLevel", read_byte_level},
                                       {"TemplateProcessing", read_templates},
                                       {"Sequence", read_sequence}})(entry, processor,
                                                                     has_template);
}

}  // namespace

PostProcessor read_post_processor(const JsonEntry& entry) {
  PostProcessor processor;
  bool has_template = false;
  add_post_processor(entry, processor, has_template);
  return processor;
}

}  // namespace dynet_like::nn::text
