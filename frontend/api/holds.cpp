// From addresses to holds.
#include "frontend/api/holds.h"

namespace weld {

void Holder::look_up(const void* p) {
    last_ = runtime::Owners::all().find(p);
    if (last_.value) {
        plain_ = result()->weak_from_this().lock();
        deep_ = plain_ ? result()->reach.lock() : nullptr;
        if (!deep_) deep_ = plain_;
    } else {
        plain_ = deep_ = std::move(last_.owner);
    }
}

}  // namespace weld
