#include <vector>
#include <weld/weld.hpp>

int main() {
    const weld::Function<double(std::span<const double>)> sum(
        "|v: vec[f64]| result(for(v, merger[f64,+], |b, i, x| merge(b, x)))");
    return sum(std::vector{40.0, 2.0}) == 42.0 ? 0 : 1;
}
