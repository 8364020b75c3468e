// Registers of a wgmma as text and as operands of an asm statement, for each number of them. Knows nothing else.
#pragma once

// GPUSIM_TEXT_n: "%0, ..., %n-1". GPUSIM_REGISTERS_n: n operands with constraint c, of array d.
#define GPUSIM_TEXT_4 "%0, %1, %2, %3"
#define GPUSIM_REGISTERS_4(c, d) c(d[0]), c(d[1]), c(d[2]), c(d[3])
#define GPUSIM_TEXT_8 GPUSIM_TEXT_4 ", %4, %5, %6, %7"
#define GPUSIM_REGISTERS_8(c, d) GPUSIM_REGISTERS_4(c, d), c(d[4]), c(d[5]), c(d[6]), c(d[7])
#define GPUSIM_TEXT_12 GPUSIM_TEXT_8 ", %8, %9, %10, %11"
#define GPUSIM_REGISTERS_12(c, d) GPUSIM_REGISTERS_8(c, d), c(d[8]), c(d[9]), c(d[10]), c(d[11])
#define GPUSIM_TEXT_16 GPUSIM_TEXT_12 ", %12, %13, %14, %15"
#define GPUSIM_REGISTERS_16(c, d) GPUSIM_REGISTERS_12(c, d), c(d[12]), c(d[13]), c(d[14]), c(d[15])
#define GPUSIM_TEXT_20 GPUSIM_TEXT_16 ", %16, %17, %18, %19"
#define GPUSIM_REGISTERS_20(c, d) GPUSIM_REGISTERS_16(c, d), c(d[16]), c(d[17]), c(d[18]), c(d[19])
#define GPUSIM_TEXT_24 GPUSIM_TEXT_20 ", %20, %21, %22, %23"
#define GPUSIM_REGISTERS_24(c, d) GPUSIM_REGISTERS_20(c, d), c(d[20]), c(d[21]), c(d[22]), c(d[23])
#define GPUSIM_TEXT_28 GPUSIM_TEXT_24 ", %24, %25, %26, %27"
#define GPUSIM_REGISTERS_28(c, d) GPUSIM_REGISTERS_24(c, d), c(d[24]), c(d[25]), c(d[26]), c(d[27])
#define GPUSIM_TEXT_32 GPUSIM_TEXT_28 ", %28, %29, %30, %31"
#define GPUSIM_REGISTERS_32(c, d) GPUSIM_REGISTERS_28(c, d), c(d[28]), c(d[29]), c(d[30]), c(d[31])
#define GPUSIM_TEXT_36 GPUSIM_TEXT_32 ", %32, %33, %34, %35"
#define GPUSIM_REGISTERS_36(c, d) GPUSIM_REGISTERS_32(c, d), c(d[32]), c(d[33]), c(d[34]), c(d[35])
#define GPUSIM_TEXT_40 GPUSIM_TEXT_36 ", %36, %37, %38, %39"
#define GPUSIM_REGISTERS_40(c, d) GPUSIM_REGISTERS_36(c, d), c(d[36]), c(d[37]), c(d[38]), c(d[39])
#define GPUSIM_TEXT_44 GPUSIM_TEXT_40 ", %40, %41, %42, %43"
#define GPUSIM_REGISTERS_44(c, d) GPUSIM_REGISTERS_40(c, d), c(d[40]), c(d[41]), c(d[42]), c(d[43])
#define GPUSIM_TEXT_48 GPUSIM_TEXT_44 ", %44, %45, %46, %47"
#define GPUSIM_REGISTERS_48(c, d) GPUSIM_REGISTERS_44(c, d), c(d[44]), c(d[45]), c(d[46]), c(d[47])
#define GPUSIM_TEXT_52 GPUSIM_TEXT_48 ", %48, %49, %50, %51"
#define GPUSIM_REGISTERS_52(c, d) GPUSIM_REGISTERS_48(c, d), c(d[48]), c(d[49]), c(d[50]), c(d[51])
#define GPUSIM_TEXT_56 GPUSIM_TEXT_52 ", %52, %53, %54, %55"
#define GPUSIM_REGISTERS_56(c, d) GPUSIM_REGISTERS_52(c, d), c(d[52]), c(d[53]), c(d[54]), c(d[55])
#define GPUSIM_TEXT_60 GPUSIM_TEXT_56 ", %56, %57, %58, %59"
#define GPUSIM_REGISTERS_60(c, d) GPUSIM_REGISTERS_56(c, d), c(d[56]), c(d[57]), c(d[58]), c(d[59])
#define GPUSIM_TEXT_64 GPUSIM_TEXT_60 ", %60, %61, %62, %63"
#define GPUSIM_REGISTERS_64(c, d) GPUSIM_REGISTERS_60(c, d), c(d[60]), c(d[61]), c(d[62]), c(d[63])
#define GPUSIM_TEXT_68 GPUSIM_TEXT_64 ", %64, %65, %66, %67"
#define GPUSIM_REGISTERS_68(c, d) GPUSIM_REGISTERS_64(c, d), c(d[64]), c(d[65]), c(d[66]), c(d[67])
#define GPUSIM_TEXT_72 GPUSIM_TEXT_68 ", %68, %69, %70, %71"
#define GPUSIM_REGISTERS_72(c, d) GPUSIM_REGISTERS_68(c, d), c(d[68]), c(d[69]), c(d[70]), c(d[71])
#define GPUSIM_TEXT_76 GPUSIM_TEXT_72 ", %72, %73, %74, %75"
#define GPUSIM_REGISTERS_76(c, d) GPUSIM_REGISTERS_72(c, d), c(d[72]), c(d[73]), c(d[74]), c(d[75])
#define GPUSIM_TEXT_80 GPUSIM_TEXT_76 ", %76, %77, %78, %79"
#define GPUSIM_REGISTERS_80(c, d) GPUSIM_REGISTERS_76(c, d), c(d[76]), c(d[77]), c(d[78]), c(d[79])
#define GPUSIM_TEXT_84 GPUSIM_TEXT_80 ", %80, %81, %82, %83"
#define GPUSIM_REGISTERS_84(c, d) GPUSIM_REGISTERS_80(c, d), c(d[80]), c(d[81]), c(d[82]), c(d[83])
#define GPUSIM_TEXT_88 GPUSIM_TEXT_84 ", %84, %85, %86, %87"
#define GPUSIM_REGISTERS_88(c, d) GPUSIM_REGISTERS_84(c, d), c(d[84]), c(d[85]), c(d[86]), c(d[87])
#define GPUSIM_TEXT_92 GPUSIM_TEXT_88 ", %88, %89, %90, %91"
#define GPUSIM_REGISTERS_92(c, d) GPUSIM_REGISTERS_88(c, d), c(d[88]), c(d[89]), c(d[90]), c(d[91])
#define GPUSIM_TEXT_96 GPUSIM_TEXT_92 ", %92, %93, %94, %95"
#define GPUSIM_REGISTERS_96(c, d) GPUSIM_REGISTERS_92(c, d), c(d[92]), c(d[93]), c(d[94]), c(d[95])
#define GPUSIM_TEXT_100 GPUSIM_TEXT_96 ", %96, %97, %98, %99"
#define GPUSIM_REGISTERS_100(c, d) GPUSIM_REGISTERS_96(c, d), c(d[96]), c(d[97]), c(d[98]), c(d[99])
#define GPUSIM_TEXT_104 GPUSIM_TEXT_100 ", %100, %101, %102, %103"
#define GPUSIM_REGISTERS_104(c, d) GPUSIM_REGISTERS_100(c, d), c(d[100]), c(d[101]), c(d[102]), c(d[103])
#define GPUSIM_TEXT_108 GPUSIM_TEXT_104 ", %104, %105, %106, %107"
#define GPUSIM_REGISTERS_108(c, d) GPUSIM_REGISTERS_104(c, d), c(d[104]), c(d[105]), c(d[106]), c(d[107])
#define GPUSIM_TEXT_112 GPUSIM_TEXT_108 ", %108, %109, %110, %111"
#define GPUSIM_REGISTERS_112(c, d) GPUSIM_REGISTERS_108(c, d), c(d[108]), c(d[109]), c(d[110]), c(d[111])
#define GPUSIM_TEXT_116 GPUSIM_TEXT_112 ", %112, %113, %114, %115"
#define GPUSIM_REGISTERS_116(c, d) GPUSIM_REGISTERS_112(c, d), c(d[112]), c(d[113]), c(d[114]), c(d[115])
#define GPUSIM_TEXT_120 GPUSIM_TEXT_116 ", %116, %117, %118, %119"
#define GPUSIM_REGISTERS_120(c, d) GPUSIM_REGISTERS_116(c, d), c(d[116]), c(d[117]), c(d[118]), c(d[119])
#define GPUSIM_TEXT_124 GPUSIM_TEXT_120 ", %120, %121, %122, %123"
#define GPUSIM_REGISTERS_124(c, d) GPUSIM_REGISTERS_120(c, d), c(d[120]), c(d[121]), c(d[122]), c(d[123])
#define GPUSIM_TEXT_128 GPUSIM_TEXT_124 ", %124, %125, %126, %127"
#define GPUSIM_REGISTERS_128(c, d) GPUSIM_REGISTERS_124(c, d), c(d[124]), c(d[125]), c(d[126]), c(d[127])
