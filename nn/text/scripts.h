// Splits between scripts, such as Latin and Cyrillic.
#pragma once

#include "nn/text/splits.h"

namespace dynet_like::nn::text {

/// A part for each run of characters of one script. Spaces and characters without a script belong
/// to the part before them, and are dropped where a text begins. Hiragana and Katakana count as
/// Han, as in SentencePiece.
void unicode_scripts(Splits& splits);

}  // namespace dynet_like::nn::text
