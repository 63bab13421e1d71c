// Edit scripts: how a word becomes its lemma, so that a model learns few classes, not many lemmas.
#pragma once

#include <string>
#include <string_view>

namespace dynet_like::nn {

/// A script that turns the word into the lemma (Straka 2018): what to cut off at both ends of the
/// word in small letters, what to put there, and which letters to make capital. "walking" and
/// "walk" have the same script as "Asking" and "ask". If they have no character in common, the
/// script is the lemma itself. Characters are those of UTF-8, or single bytes where the text is no
/// UTF-8. Takes time and memory in proportion to the product of both lengths.
std::string edit_script(std::string_view word, std::string_view lemma);

/// Applies any script to any word: apply_edit_script(edit_script(word, lemma), word) is the lemma.
/// A script that cuts off more than the word has, or leaves nothing, returns the word as it is, and
/// so does a text that is no script.
std::string apply_edit_script(std::string_view script, std::string_view word);

}  // namespace dynet_like::nn
