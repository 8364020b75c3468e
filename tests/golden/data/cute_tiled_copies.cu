// Prints what tests/golden/data/cute_tiled_copies.json holds: CuTe's text of layouts and tiled copies, and the elements that
// each thread of a copy asks shared memory for. Runs on the host:
//   nvcc -std=c++17 -arch=sm_80 --expt-relaxed-constexpr -I CUTLASS/include cute_tiled_copies.cu && ./a.out
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/arch/mma_sm80.hpp>
#include <cute/arch/copy_sm75.hpp>
#include <cute/arch/copy_sm80.hpp>
#include <cute/atom/mma_traits_sm90_gmma.hpp>
#include <cute/atom/copy_traits_sm90.hpp>
#include <cstdio>
using namespace cute;

// Prints a TiledCopy, and for each thread the offset of the first element that each of its instructions asks for.
template <class Copy, class L>
void dump(const char* name, Copy copy, L layout) {
  printf("== %s\n", name);
  print(copy);
  print("layout: ");
  print(layout);
  print("\n");
  printf("offsets:");
  constexpr int step = decltype(size<1>(typename Copy::ValLayoutSrc{}))::value;
  for (int t = 0; t < size(copy); ++t) {
    auto id = group_modes<1, 3>(copy.get_slice(t).partition_S(make_identity_tensor(shape(layout))));
    printf(" |");
    for (int r = 0; r < size<1>(id); ++r) {
      for (int v = 0; v < size<0>(id); v += step) {
        auto c = id(v, r);
        printf(" %d", int(layout(get<0>(c), get<1>(c))));
      }
    }
  }
  printf("\n");
}

int main() {
  print(composition(Swizzle<3,3,3>{}, smem_ptr_flag_bits<16>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{})); print("\n");
  print(composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{})); print("\n");
  print(Swizzle<3,4,3>{}); print("\n");
  print(GMMA::Layout_K_SW128_Atom<half_t>{}); print("\n");
  print(GMMA::Layout_MN_SW128_Atom<half_t>{}); print("\n");
  print(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128,_64,_3>{})); print("\n");
  print(tile_to_shape(GMMA::Layout_MN_SW128_Atom<half_t>{}, Shape<_128,_64,_3>{})); print("\n");
  print(tile_to_shape(composition(Swizzle<3,3,3>{}, Layout<Shape<_8,Shape<_8,_8>>,Stride<_8,Stride<_1,_64>>>{}), Shape<_128,_64,_3>{})); print("\n");
  print(as_position_independent_swizzle_layout(GMMA::Layout_K_SW128_Atom<half_t>{})); print("\n");
  print(as_position_independent_swizzle_layout(GMMA::Layout_K_SW128_Atom<float>{})); print("\n");
  print(GMMA::Layout_K_SW32_Atom<float>{}); print("\n");
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_16>{});
  auto mma8 = make_tiled_mma(SM80_16x8x8_F32TF32TF32F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_8>{});
  auto kmaj = Layout<Shape<_64,_32>,Stride<_32,_1>>{};
  auto mmaj = Layout<Shape<_64,_32>,Stride<_1,_64>>{};
  dump("ldsm_n A k-major", make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma), kmaj);
  dump("ldsm_n B k-major", make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma), kmaj);
  dump("ldsm_n x2 B k-major", make_tiled_copy_B(Copy_Atom<SM75_U32x2_LDSM_N, half_t>{}, mma), kmaj);
  dump("ldsm_t A m-major", make_tiled_copy_A(Copy_Atom<SM75_U16x8_LDSM_T, half_t>{}, mma), mmaj);
  dump("ldsm_t B n-major", make_tiled_copy_B(Copy_Atom<SM75_U16x8_LDSM_T, half_t>{}, mma), mmaj);
  dump("ldsm_t x2 A m-major", make_tiled_copy_A(Copy_Atom<SM75_U16x4_LDSM_T, half_t>{}, mma), mmaj);
  dump("lds tf32 A m-major", make_tiled_copy_A(Copy_Atom<UniversalCopy<uint32_t>, tfloat32_t>{}, mma8), mmaj);
  dump("lds tf32 B n-major", make_tiled_copy_B(Copy_Atom<UniversalCopy<uint32_t>, tfloat32_t>{}, mma8), mmaj);
  dump("lds tf32 A k-major", make_tiled_copy_A(Copy_Atom<UniversalCopy<uint32_t>, tfloat32_t>{}, mma8), kmaj);
  dump("ldsm tf32 A k-major", make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, tfloat32_t>{}, mma8), kmaj);
  dump("universal 128 k-major", make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_32,_4>,Stride<_4,_1>>{}, Layout<Shape<_1,_8>>{}), kmaj);
  dump("universal 128 m-major", make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_8,_16>>{}, Layout<Shape<_8,_1>>{}), mmaj);
  dump("universal 32 of C", make_tiled_copy_C(Copy_Atom<UniversalCopy<uint32_t>, half_t>{}, mma), Layout<Shape<_64,_64>,Stride<_64,_1>>{});
  dump("cp async 16", make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{}, Layout<Shape<_16,_8>,Stride<_8,_1>>{}, Layout<Shape<_1,_8>>{}), Layout<Shape<_64,_64>,Stride<_64,_1>>{});
}
