/// An encoding of text, with what reads it.
///
/// The names and labels are those of the Encoding Standard (https://encoding.spec.whatwg.org/#names-and-labels), in which a label
/// stands for the superset that programs wrote under it: `iso-8859-1` for Windows-1252, `shift_jis` for code page 932. What mails name
/// besides stands at the end.
public struct Charset: Hashable, Sendable {
  /// In lower case, as the standard has it.
  public let name: String
  /// What iconv_open(3) calls it.
  let converter: String

  public static let utf8 = Charset(name: "utf-8", converter: "UTF-8")
  public static let utf16LittleEndian = Charset(name: "utf-16le", converter: "UTF-16LE")
  public static let utf16BigEndian = Charset(name: "utf-16be", converter: "UTF-16BE")
  public static let windows1252 = Charset(name: "windows-1252", converter: "CP1252")
  static let shiftedJapanese = "iso-2022-jp"

  /// The encoding that a label stands for, in any case, with blanks around it, and with or without its hyphens; `nil`: it is not known.
  public init?(label: String) {
    guard label.utf8.count <= 60 else { return nil }
    let key = Self.key(of: label)
    guard let charset = Self.byLabel[key] else { return nil }
    self = charset
  }

  /// The label that a media type says its text is in, with or without quotes; `nil`: it says none.
  public static func label(ofType type: String?) -> String? {
    for parameter in (type ?? "").split(separator: ";").dropFirst() {
      let parts = parameter.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased().filter({ $0 != " " && $0 != "\t" }) == "charset" else {
        continue
      }
      return String(parts[1].filter { !" \t\"'".contains($0) })
    }
    return nil
  }

  private init(name: String, converter: String) {
    (self.name, self.converter) = (name, converter)
  }

  /// Programs write `cp-850`, `x-sjis`, `mac-roman` and `iso88591`.
  private static func key(of label: String) -> String {
    let letters = label.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
    return String(letters.first == "x" ? letters.dropFirst() : letters[...])
  }

  /// All that there are.
  public static let all: [Charset] = Array(Set(byLabel.values)).sorted { $0.name < $1.name }

  private static let byLabel: [String: Charset] = {
    var charsets: [String: Charset] = [:]
    for line in table.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      let charset = Charset(name: words[0], converter: words[1])
      for label in [words[0]] + words.dropFirst(2) { charsets[key(of: label)] = charset }
    }
    return charsets
  }()

  /// In each line a name, what iconv_open(3) calls it, and labels.
  private static let table = """
    utf-8 UTF-8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 utf8mb4 utf8mb3 utf-8-sig
    ibm866 CP866 866 cp866 csibm866
    iso-8859-2 ISO8859-2 csisolatin2 iso-ir-101 iso_8859-2:1987 l2 latin2
    iso-8859-3 ISO8859-3 csisolatin3 iso-ir-109 iso_8859-3:1988 l3 latin3
    iso-8859-4 ISO8859-4 csisolatin4 iso-ir-110 iso_8859-4:1988 l4 latin4
    iso-8859-5 ISO8859-5 csisolatincyrillic cyrillic iso-ir-144 iso_8859-5:1988
    iso-8859-6 ISO8859-6 arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e iso-8859-6-i iso-ir-127 iso_8859-6:1987
    iso-8859-7 ISO8859-7 csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso_8859-7:1987 sun_eu_greek
    iso-8859-8 ISO8859-8 csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso_8859-8:1988 visual
    iso-8859-8-i ISO8859-8 csiso88598i logical
    iso-8859-10 ISO8859-10 csisolatin6 iso-ir-157 l6 latin6
    iso-8859-13 ISO8859-13
    iso-8859-14 ISO8859-14
    iso-8859-15 ISO8859-15 csisolatin9 l9 latin9 latin-9
    iso-8859-16 ISO8859-16
    koi8-r KOI8-R cskoi8r koi koi8
    koi8-u KOI8-U koi8-ru
    macintosh MACINTOSH csmacintosh mac x-mac-roman
    windows-874 CP874 dos-874 iso-8859-11 tis-620 cp874
    windows-1250 CP1250 cp1250
    windows-1251 CP1251 cp1251
    windows-1252 CP1252 ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso_8859-1:1987 l1 latin1 us-ascii
    windows-1253 CP1253 cp1253
    windows-1254 CP1254 cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso_8859-9:1989 l5 latin5
    windows-1255 CP1255 cp1255
    windows-1256 CP1256 cp1256
    windows-1257 CP1257 cp1257
    windows-1258 CP1258 cp1258
    x-mac-cyrillic CP10007 x-mac-ukrainian
    gbk GB18030 chinese csgb2312 csiso58gb231280 gb2312 gb_2312-80 iso-ir-58 cp936
    gb18030 GB18030
    big5 BIG5-HKSCS big5-hkscs cn-big5 csbig5 x-x-big5 cp950
    euc-jp EUC-JP-MS cseucpkdfmtjapanese
    iso-2022-jp EUC-JP-MS csiso2022jp iso-2022-jp-1 iso-2022-jp-2 iso-2022-jp-3 iso-2022-jp-ms cp50220 cp50221
    shift_jis CP932 csshiftjis ms932 ms_kanji shift-jis sjis windows-31j cp932
    euc-kr UHC cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 windows-949 cp949 uhc
    utf-16be UTF-16BE unicodefffe
    utf-16le UTF-16LE csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16
    iso-2022-kr ISO-2022-KR csiso2022kr
    utf-7 UTF-7 unicode-1-1-utf-7
    ibm437 CP437 437 cp437
    ibm850 CP850 850 cp850
    ibm852 CP852 852 cp852
    ibm855 CP855 855 cp855
    ibm857 CP857 857 cp857
    ibm858 CP858 858 cp858 ibm00858
    ibm862 CP862 862 cp862
    x-mac-ce MAC-CENTRALEUROPE x-mac-centraleurroman mac-centraleurope
    euc-tw EUC-TW
    johab JOHAB
    viscii VISCII
    tcvn TCVN tcvn5712-1
    iso-8859-9e ISO8859-9E
    armscii-8 ARMSCII-8
    georgian-ps GEORGIAN-PS
    koi8-t KOI8-T
    rk1048 RK1048
    pt154 PT154
    """
}
