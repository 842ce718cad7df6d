// Coefficients of the polynomials in kernels.h, lowest power first. Made by coefficients.sollya.
#pragma once

// clang-format off
template <class T> struct Poly;  // of functions computed in T

template <> struct Poly<double> {
// (e^x - 1 - x) / x^2 on +-0.347; error 2^-56.1875
static constexpr double exp[] = {0x1.0000000000001p-1, 0x1.5555555555558p-3, 0x1.5555555553cb1p-5, 0x1.111111110f8c7p-7, 0x1.6c16c178be1d1p-10, 0x1.a01a01afc4de2p-13, 0x1.a019b869d19c9p-16, 0x1.71ddf759c2d3cp-19, 0x1.2892327b2f5b5p-22, 0x1.af621eee20fa8p-26};
// (2^x - 1) / x on +-0.5; error 2^-51.0625
static constexpr double exp2[] = {0x1.62e42fefa39f7p-1, 0x1.ebfbdff82c5ap-3, 0x1.c6b08d7044087p-5, 0x1.3b2ab6fba041bp-7, 0x1.5d87fe90a309p-10, 0x1.4309130f4397fp-13, 0x1.ffcb763c8b353p-17, 0x1.62bfc4e05ac19p-20, 0x1.b6575a5e38ab4p-24, 0x1.e62205d260c92p-28};
// (2^x - 1 - x ln 2) / x^2 on +-0.5; error 2^-56.125
static constexpr double exp2_rest[] = {0x1.ebfbdff82c59p-3, 0x1.c6b08d704a0c3p-5, 0x1.3b2ab6fba39c4p-7, 0x1.5d87fe78a489fp-10, 0x1.4309130329661p-13, 0x1.ffcbfc6b99f12p-17, 0x1.62bfe52fa9741p-20, 0x1.b524ee9836795p-24, 0x1.e5e88cb767885p-28, 0x1.e9ea11eb0fcebp-32};
// (2 atanh(s) / s - 2) / z, z = s^2 <= 0.0401; error 2^-60.8125
static constexpr double log[] = {0x1.5555555555555p-1, 0x1.999999999a008p-2, 0x1.24924923cccf4p-2, 0x1.c71c72f137c3fp-3, 0x1.745ca7aa58afdp-3, 0x1.3b2a7126a1deap-3, 0x1.0e8136b5361a3p-3, 0x1.16ea8853e3cb3p-3};
// (sin(x) / x - 1) / z, z = x^2, |x| <= pi / 4; error 2^-56.0625
static constexpr double sin[] = {-0x1.5555555555555p-3, 0x1.1111111110c83p-7, -0x1.a01a019ea12efp-13, 0x1.71de37b1c6854p-19, -0x1.ae6020fd65d6ep-26, 0x1.5e118c8674917p-33};
// (cos(x) - 1 + z / 2) / z^2, |x| <= pi / 4; error 2^-60.9375
static constexpr double cos[] = {0x1.5555555555555p-5, -0x1.6c16c16c168ccp-10, 0x1.a01a019f38aeep-16, -0x1.27e4fa036b9b5p-22, 0x1.1eeb584e7aa5ep-29, -0x1.9073d27e1f87bp-37};
// (tan(x) / x - 1) / z, |x| <= pi / 4; error 2^-57.875
static constexpr double tan[] = {0x1.5555555555555p-2, 0x1.111111111114bp-3, 0x1.ba1ba1ba1eb25p-5, 0x1.664f488016853p-6, 0x1.226e360b6a584p-7, 0x1.d6d3a2d3d9851p-9, 0x1.7da72ab8a7c43p-10, 0x1.35238db4cf007p-11, 0x1.f9721c3ab2126p-13, 0x1.7ba5af1ea9573p-14, 0x1.ca6518e070744p-15, -0x1.4a8cf19590461p-17, 0x1.2a6717f92cae2p-15, -0x1.2baa32eb2ece3p-16, 0x1.195de3ff0df77p-17};
// (asin(x) / x - 1) / z, |x| <= 0.5; error 2^-58.0625
static constexpr double asin[] = {0x1.5555555555556p-3, 0x1.3333333332da2p-4, 0x1.6db6db6e48603p-5, 0x1.f1c71c11dee9fp-6, 0x1.6e8bb37521b17p-6, 0x1.1c4d112cecd77p-6, 0x1.c9d30ac3e3d54p-7, 0x1.7801021f28de7p-7, 0x1.532a914f59803p-7, 0x1.5e2915a6c3c81p-8, 0x1.2205421bec271p-6, -0x1.f58c5841c14fep-7, 0x1.dc181d907aefcp-6};
// (atan(x) / x - 1) / z, |x| <= 1; error 2^-58.0625
static constexpr double atan[] = {-0x1.5555555555555p-2, 0x1.9999999999889p-3, -0x1.249249248aa63p-3, 0x1.c71c71c400394p-4, -0x1.745d16eac7943p-4, 0x1.3b13aaa61eb25p-4, -0x1.1110be031dcc9p-4, 0x1.e1dc016818859p-5, -0x1.af00c87163751p-5, 0x1.854bc4fc0aa7ap-5, -0x1.60f31796f9d96p-5, 0x1.3d58552227922p-5, -0x1.14b8a75005098p-5, 0x1.c48a48b49a7f5p-6, -0x1.4cc40a52ec92fp-6, 0x1.a4627f0482f8dp-7, -0x1.b28c29c65f0d7p-8, 0x1.5bb4d7ad14518p-9, -0x1.8ff38a61d42edp-11, 0x1.243ad36952315p-13, -0x1.959e99e5d052fp-17};
// (sinh(x) / x - 1) / z, |x| <= 1; error 2^-59.6875
static constexpr double sinh[] = {0x1.5555555555555p-3, 0x1.1111111111198p-7, 0x1.a01a01a00b9c2p-13, 0x1.71de3a5e9b752p-19, 0x1.ae645336ffbc5p-26, 0x1.612234504ed54p-33, 0x1.b260b8b04cf0dp-41};
// erf(x) / x - 1 in z, |x| <= 1.25; error 2^-56.1875
static constexpr double erf_near[] = {0x1.06eba8214db69p-3, -0x1.812746b0379f6p-2, 0x1.ce2f21a043053p-4, -0x1.b82ce3129122cp-6, 0x1.565bcd0ecdfc5p-8, -0x1.c02db3fca9d28p-11, 0x1.f9a3252bab1c4p-14, -0x1.f4d2283b31632p-17, 0x1.b9e3794d4a66ep-20, -0x1.5f5125cbce221p-23, 0x1.fad2085a488d9p-27, -0x1.4870bc27fbc5fp-30, 0x1.62c561dbe4e68p-34, -0x1.dc78df11b48acp-39};
// -log2(erfc(x)) on [1.25, 5.95], error of erfc; error 2^-55.25
static constexpr double erf_far[] = {0x1.3d2ba0c980742p-18, 0x1.a0bbc11f39249p0, 0x1.d655c767242ap-1, 0x1.2ebbf010f89a5p-3, -0x1.b6fde30ba769bp-6, -0x1.62ccfc183a944p-10, 0x1.c9d52cd591389p-9, -0x1.b14ad6a23dec3p-10, 0x1.0b63c57f5f887p-11, -0x1.e4ea6676072bfp-14, 0x1.48c55fc3c12ddp-16, -0x1.4697843842d38p-19, 0x1.c2730ebd197f1p-23, -0x1.81dbca83591b8p-27, 0x1.353e8116d141cp-32};
// log2(m) = s * (log2_0 + z * (log2_1 + z * log2_rest(z))), s = (m - 1) / (m + 1); the first two as sums, and ln 2
static constexpr double ln2_hi = 0x1.62e42fefa39efp-1, ln2_lo = 0x1.abc9e3b39803fp-56;
static constexpr double log2_0_hi = 0x1.71547652b82fep1, log2_0_lo = 0x1.777d0ffda0d24p-55;
static constexpr double log2_1_hi = 0x1.ec709dc3a03fdp-1, log2_1_lo = 0x1.d27f05548af0cp-55;
// z <= 0.0296, error relative to log2_0; error 2^-71.25
static constexpr double log2_rest[] = {0x1.2776c50ef9bfep-1, 0x1.a61762a7ae41dp-2, 0x1.484b13d735fcep-2, 0x1.0c9a84ffec58p-2, 0x1.c68f051925138p-3, 0x1.8a0619c07a2f7p-3, 0x1.593bbff1748aap-3, 0x1.6034d8e2e4bfbp-3};
};

template <> struct Poly<float> {
// as above; error 2^-26.96875
static constexpr float exp[] = {0x1p-1f, 0x1.5554dcp-3f, 0x1.5554e8p-5f, 0x1.120c44p-7f, 0x1.6d4e7ep-10f};
// as above; error 2^-27.78125
static constexpr float exp2[] = {0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6af9cp-5f, 0x1.3b2a48p-7f, 0x1.5ef5dap-10f, 0x1.442516p-13f};
// as above; error 2^-26.65625
static constexpr float log[] = {0x1.555566p-1f, 0x1.99616cp-2f, 0x1.32dc28p-2f};
// as above for |x| <= 0.789; error 2^-26.28125
static constexpr float sin[] = {-0x1.555552p-3f, 0x1.110bd8p-7f, -0x1.9aaaeap-13f};
// as above for |x| <= 0.789; error 2^-30.28125
static constexpr float cos[] = {0x1.555554p-5f, -0x1.6c1292p-10f, 0x1.9bbfcp-16f};
// as above for |x| <= 0.789; error 2^-27.59375
static constexpr float tan[] = {0x1.555556p-2f, 0x1.111062p-3f, 0x1.ba5d16p-5f, 0x1.61ad28p-6f, 0x1.4a03fap-7f, 0x1.0ca0bcp-10f, 0x1.01b0dap-8f};
// as above; error 2^-25.875
static constexpr float asin[] = {0x1.55555ep-3f, 0x1.332638p-4f, 0x1.70ce26p-5f, 0x1.b1164ap-6f, 0x1.39fbbcp-5f};
// as above; error 2^-26.375
static constexpr float atan[] = {-0x1.555554p-2f, 0x1.99984cp-3f, -0x1.246f74p-3f, 0x1.c423eep-4f, -0x1.636df2p-4f, 0x1.01e514p-4f, -0x1.2a759ap-5f, 0x1.c62ea6p-7f, -0x1.449a16p-9f};
// as above; error 2^-30
static constexpr float sinh[] = {0x1.555556p-3f, 0x1.1110c6p-7f, 0x1.a03554p-13f, 0x1.725236p-19f};
// as above; error 2^-25.46875
static constexpr float erf_near[] = {0x1.06eba6p-3f, -0x1.8126f2p-2f, 0x1.ce20a6p-4f, -0x1.b7434p-6f, 0x1.4f51e8p-8f, -0x1.873fc2p-11f, 0x1.075644p-14f};
// as above on [1.25, 3.95]; error 2^-28.21875
static constexpr float erf_far[] = {0x1.c3c2cep-10f, 0x1.9f2184p0f, 0x1.dabe0ap-1f, 0x1.262536p-3f, -0x1.dffc48p-6f, 0x1.ebe96p-9f, -0x1.d2e924p-13f};
};

/// For functions of float that are computed in double.
struct PolyShort {
// as above; error 2^-28
static constexpr double exp2[] = {0x1.62e4302fdfe19p-1, 0x1.ebfbe07dc0c5p-3, 0x1.c6af6c948d47cp-5, 0x1.3b29e3a349aa4p-7, 0x1.5f08bd8ac2a54p-10, 0x1.446ca65bd6657p-13};
// log2(m) / s; error 2^-42.375
static constexpr double log2[] = {0x1.71547652b7e82p1, 0x1.ec709dcb71a53p-1, 0x1.2776bc3ad5842p-1, 0x1.a61eaa4946e52p-2, 0x1.46f131ffd6487p-2, 0x1.29df6cae80d9ep-2};
// as above; error 2^-35.75
static constexpr double sin[] = {-0x1.555555545e467p-3, 0x1.11110def731afp-7, -0x1.a013a7b33edf1p-13, 0x1.6dbe051ce681fp-19};
// as above; error 2^-30.28125
static constexpr double cos[] = {0x1.55555441e6a9dp-5, -0x1.6c12d37557bddp-10, 0x1.9bd8c02026f59p-16};
// as above; error 2^-27.6875
static constexpr double tan[] = {0x1.555555d672f15p-2, 0x1.111076ed78fc2p-3, 0x1.ba5795fe487c3p-5, 0x1.61f812679813dp-6, 0x1.48260426092c5p-7, 0x1.22e9d8c0eee3ap-10, 0x1.fd1b97a736543p-9};
};
// clang-format on
