// Timeline::save: writes the file piece by piece, atomically (see AtomicFile).
#include <span>
#include <string>

#include "dynet_like/core/timeline.h"
#include "dynet_like/core/timeline_track.h"
#include "dynet_like/io/atomic_file.h"

namespace dynet_like {

void Timeline::save(const std::string& path) const {
  constexpr std::size_t kPiece = 1 << 20;
  detail::AtomicFile file(path);
  std::string text;
  const auto flush = [&] {
    file.write(std::as_bytes(std::span(text)));
    text.clear();
  };
  state_->write_json([&](std::string_view piece) {
    text += piece;
    if (text.size() >= kPiece) flush();
  });
  flush();
  file.commit();
}

}  // namespace dynet_like
