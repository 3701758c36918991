/// A page with text in fonts that it does not embed. Poppler finds its objects without a table.
enum SamplePage {
  /// Allocated once and never freed.
  static var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  private static let text: StaticString = """
    %PDF-1.4
    1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
    2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
    3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 40 40]/Contents 4 0 R
    /Resources<</Font<</A 5 0 R/B 6 0 R/C 7 0 R>>/Shading<</S 8 0 R>>/ExtGState<</G <</ca .5>>>>>>>> endobj
    4 0 obj <</Length 154>> stream
    BT 2 2 Td /A 40 Tf (MM) Tj /B 9 Tf (i) Tj /C 9 Tf (i) Tj ET
    q /G gs 0 0 4 4 re W n /S sh Q q 4 0 0 4 9 9 cm
    BI /W 1 /H 1 /BPC 8 /CS /CMYK ID abcd EI Q 1 0 0 RG 1 1 m 9 9 l S
    endstream endobj
    5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold>> endobj
    6 0 obj <</Type/Font/Subtype/TrueType/BaseFont/Verdana/Encoding/WinAnsiEncoding>> endobj
    7 0 obj <</Type/Font/Subtype/Type0/BaseFont/Kanji/Encoding/Identity-H/DescendantFonts[9 0 R]>> endobj
    8 0 obj <</ShadingType 2/ColorSpace/DeviceRGB/Coords[0 0 4 4]/Function
    <</FunctionType 2/Domain[0 1]/C0[1 0 0]/C1[0 0 1]/N 1>>>> endobj
    9 0 obj <</Type/Font/Subtype/CIDFontType2/BaseFont/Kanji/CIDSystemInfo
    <</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>> endobj
    trailer <</Root 1 0 R>>
    %%EOF

    """
}
