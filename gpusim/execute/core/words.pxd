"""The functions of ``words.py`` as C. Floats are copied as bytes, so that the compiler may assume strict aliasing."""

cimport cython

cdef extern from *:
    """
    #include <math.h>
    #include <string.h>
    static inline float gpusim_as_float(unsigned int bits) { float f; memcpy(&f, &bits, 4); return f; }
    static inline unsigned int gpusim_float_bits(float f) {
        unsigned int bits; if (f != f) return 0x7fffffffu; memcpy(&bits, &f, 4); return bits; }
    static inline double gpusim_as_double(unsigned long long bits) { double f; memcpy(&f, &bits, 8); return f; }
    static inline unsigned long long gpusim_double_bits(double f) {
        unsigned long long bits; if (f != f) return 0x7fffffffffffffffULL; memcpy(&bits, &f, 8); return bits; }
    static inline unsigned int gpusim_word_at(const unsigned char* m, long long at, long long size) {
        m += at; if (size == 4) return m[0] | m[1] << 8 | m[2] << 16 | (unsigned int)m[3] << 24;
        return size == 2 ? m[0] | m[1] << 8 : m[0]; }
    static inline void gpusim_put_word(unsigned char* m, long long at, long long size, unsigned int word) {
        m += at; m[0] = (unsigned char)word; if (size > 1) m[1] = (unsigned char)(word >> 8);
        if (size > 2) { m[2] = (unsigned char)(word >> 16); m[3] = (unsigned char)(word >> 24); } }
    static inline int gpusim_count_bits(unsigned int v) {
        v = v - ((v >> 1) & 0x55555555u); v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
        return (int)((((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24); }
    static inline int gpusim_highest_bit(unsigned int v) { int n = 0; while (v >>= 1) n++; return n; }
    """
    float as_float "gpusim_as_float"(unsigned int bits) noexcept nogil
    unsigned int float_bits "gpusim_float_bits"(float value) noexcept nogil
    double as_double "gpusim_as_double"(unsigned long long bits) noexcept nogil
    unsigned long long double_bits "gpusim_double_bits"(double value) noexcept nogil
    unsigned int word_at "gpusim_word_at"(unsigned char* memory, long long place, long long size) noexcept nogil
    void put_word "gpusim_put_word"(unsigned char* memory, long long place, long long size, unsigned int word) noexcept nogil
    int count_bits "gpusim_count_bits"(unsigned int value) noexcept nogil
    int highest_bit "gpusim_highest_bit"(unsigned int value) noexcept nogil
    float _fmaf "fmaf"(float a, float b, float c) noexcept nogil
    double _fma "fma"(double a, double b, double c) noexcept nogil
    double square_root "sqrt"(double value) noexcept nogil
    double exp2(double value) noexcept nogil
    double log2(double value) noexcept nogil
    double sine "sin"(double value) noexcept nogil
    double cosine "cos"(double value) noexcept nogil
    double tangent_h "tanh"(double value) noexcept nogil
    double nearest "rint"(double value) noexcept nogil
    double floor(double value) noexcept nogil

cdef inline unsigned int* words_of(unsigned int[::1] array) noexcept:
    return &array[0]

cdef inline long long* integers_of(long long[::1] array) noexcept:
    return &array[0]

cdef inline unsigned char* bytes_of(unsigned char[::1] array) noexcept:
    return &array[0]

cdef inline unsigned int low32(unsigned long long value) noexcept:
    return <unsigned int>value

cdef inline unsigned long long low64(unsigned long long value) noexcept:
    return value

cdef inline long long signed32(unsigned long long value) noexcept:
    return <int>value

cdef inline long long signed64(unsigned long long value) noexcept:
    return <long long>value

cdef inline double quotient(double a, double b) noexcept:
    return a / b

cdef inline unsigned int fused32(float a, float b, float c) noexcept:
    return float_bits(_fmaf(a, b, c))

cdef inline unsigned long long fused64(double a, double b, double c) noexcept:
    return double_bits(_fma(a, b, c))

cdef inline long long whole(double value) noexcept:
    return <long long>value

cdef inline unsigned long long unsigned_whole(double value) noexcept:
    return <unsigned long long>value
