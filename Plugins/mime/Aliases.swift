extension Families {
  /// The name of the family by each of its types. The aliases come from IANA's registry, browsers, mail
  /// programs and `file`.
  static let aliases: [String: String] = {
    var aliases: [String: String] = [:]
    for family in families.split(separator: "\n") {
      let types = family.split(separator: " ").map(String.init)
      for type in types { aliases[type] = types[0] }
    }
    return aliases
  }()

  /// Each family on a line; its first type is its name.
  private static let families = """
    application/pdf application/x-pdf
    application/zip application/x-zip-compressed application/x-zip
    application/gzip application/x-gzip
    application/x-bzip2 application/x-bzip application/bzip2
    application/zstd application/x-zstd
    application/x-rar application/vnd.rar application/x-rar-compressed
    application/x-tar application/tar
    application/msword application/vnd.ms-word
    \(word) \(word.dropLast(8))template
    \(wordMacros) application/vnd.ms-word.template.macroenabled.12
    \(excel) \(excel.dropLast(5))template
    \(excelMacros) application/vnd.ms-excel.template.macroenabled.12 application/vnd.ms-excel.addin.macroenabled.12 \
    application/vnd.ms-excel.sheet.binary.macroenabled.12
    \(powerpoint) \(powerpoint.dropLast(12))slideshow \(powerpoint.dropLast(12))template
    \(powerpointMacros) application/vnd.ms-powerpoint.slideshow.macroenabled.12 \
    application/vnd.ms-powerpoint.template.macroenabled.12 application/vnd.ms-powerpoint.addin.macroenabled.12
    \(program) application/x-dosexec application/x-msdownload application/x-msdos-program
    application/x-executable application/x-pie-executable application/x-sharedlib application/x-object application/x-coredump
    application/vnd.sqlite3 application/x-sqlite3
    application/json text/json
    text/xml application/xml
    text/csv application/csv text/x-csv
    text/rtf application/rtf
    text/javascript application/javascript application/x-javascript
    text/x-shellscript application/x-sh application/x-shellscript text/x-sh
    text/x-script.python text/x-python
    text/x-php application/x-httpd-php
    text/markdown text/x-markdown
    image/jpeg image/jpg image/pjpeg
    image/png image/x-png
    image/bmp image/x-ms-bmp image/x-bmp
    image/vnd.microsoft.icon image/x-icon
    image/vnd.adobe.photoshop image/x-photoshop application/x-photoshop
    image/heic image/heif image/heic-sequence image/heif-sequence
    image/avif image/avif-sequence
    audio/mpeg audio/mp3 audio/x-mp3 audio/x-mpeg
    audio/x-wav audio/wav audio/wave audio/vnd.wave
    audio/aac audio/x-hx-aac-adts audio/aacp
    audio/ac3 audio/vnd.dolby.dd-raw
    audio/flac audio/x-flac
    audio/ogg video/ogg application/ogg audio/opus
    video/mp4 audio/mp4 audio/x-m4a video/x-m4v video/quicktime video/3gpp
    video/x-matroska audio/x-matroska video/webm audio/webm
    video/x-ms-asf video/x-ms-wmv audio/x-ms-wma
    video/x-msvideo video/avi video/msvideo
    """

  static let word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
  static let wordMacros = "application/vnd.ms-word.document.macroenabled.12"
  static let excelMacros = "application/vnd.ms-excel.sheet.macroenabled.12"
  static let powerpointMacros = "application/vnd.ms-powerpoint.presentation.macroenabled.12"
  static let excel = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
  static let powerpoint = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
  static let program = "application/vnd.microsoft.portable-executable"
}
