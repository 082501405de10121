/* expr/shape_cast.h: dense casts from one number storage to all the others. No include guard.
 * In: K_T, K_TAG, K_I32(x), K_I64(x) (how a value becomes an integer: wrapping for integers, saturating for floats as in Java). */
#define K_NAME K_JOIN(K_TAG, i8)
#define K_A K_T
#define K_R int8_t
#define K_OP(x) (int8_t) K_I32(x)
#include "shape_unary.h"
#define K_NAME K_JOIN(K_TAG, i16)
#define K_A K_T
#define K_R int16_t
#define K_OP(x) (int16_t) K_I32(x)
#include "shape_unary.h"
#define K_NAME K_JOIN(K_TAG, i32)
#define K_A K_T
#define K_R int32_t
#define K_OP(x) K_I32(x)
#include "shape_unary.h"
#define K_NAME K_JOIN(K_TAG, i64)
#define K_A K_T
#define K_R int64_t
#define K_OP(x) K_I64(x)
#include "shape_unary.h"
#define K_NAME K_JOIN(K_TAG, f32)
#define K_A K_T
#define K_R float
#define K_OP(x) (float)(x)
#include "shape_unary.h"
#define K_NAME K_JOIN(K_TAG, f64)
#define K_A K_T
#define K_R double
#define K_OP(x) (double)(x)
#include "shape_unary.h"
#define K_NAME K_JOIN(K_TAG, u8)
#define K_A K_T
#define K_R uint8_t
#define K_OP(x) ((x) != 0)
#include "shape_unary.h"
#undef K_T
#undef K_TAG
#undef K_I32
#undef K_I64
