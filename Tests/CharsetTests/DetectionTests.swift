import Foundation
import Testing

@testable import Charsets

/// Texts of 24 languages in 38 encodings are read as they are meant, and none as something else.
struct DetectionTests {
  private let converters = Converters()

  private struct Sample {
    let name: String
    let bytes: [UInt8]
    let meant: String

    /// LANGUAGE-ENCODING-LENGTH.
    var encoding: String { name.split(separator: "-").dropFirst().dropLast().joined(separator: "-") }
  }

  private static func samples() throws -> [Sample] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "texts-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Fixtures/Contents/texts.py")
    let python = Process()
    python.executableURL = URL(filePath: "/usr/bin/env")
    python.arguments = ["python3", script.path, folder.path]
    try python.run()
    python.waitUntilExit()
    try #require(python.terminationStatus == 0)
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      .filter { $0.hasSuffix(".txt") }
      .map { file in
        let name = String(file.dropLast(4))
        return Sample(
          name: name, bytes: Array(try Data(contentsOf: folder.appending(path: file))),
          meant: String(decoding: try Data(contentsOf: folder.appending(path: name + ".utf8")), as: UTF8.self)
        )
      }
  }

  private func read(_ bytes: [UInt8], _ charset: Charset) -> String? {
    bytes.withUnsafeBytes { converters.utf8($0, charset) }.map { String(decoding: $0.text, as: UTF8.self) }
  }

  @Test func textsAreReadAsTheyAreMeantAndNoneAsSomethingElse() throws {
    let samples = try Self.samples()
    let detection = Detection(converters)
    var unknown: [String] = []
    for sample in samples {
      guard let found = sample.bytes.withUnsafeBytes({ detection.detect($0) }) else {
        unknown.append(sample.name)
        continue
      }
      // Equal as people see it: some encodings have accents as characters of their own.
      let text = read(Array(sample.bytes.dropFirst(found.mark)), found.charset)
      #expect(text == sample.meant, "\(sample.name) was read as \(found.charset.name)")
    }
    #expect(samples.count >= 200)
    #expect(unknown.count * 100 <= samples.count * 2, "\(unknown)")
  }

  @Test func whatIsDeclaredIsReadByTheSupersetThatProgramsMean() throws {
    let detection = Detection(converters)
    // What switches by tildes has no converter.
    for sample in try Self.samples() where sample.encoding != "hz" {
      let found = sample.bytes.withUnsafeBytes { detection.detect($0, declared: sample.encoding) }
      let charset = try #require(found?.charset, "\(sample.name)")
      #expect(read(sample.bytes, charset) == sample.meant, "\(sample.name) was read as \(charset.name)")
    }
  }

  @Test(arguments: [
    (label: "Shift_JIS", bytes: [0x87, 0x40, 0x87, 0x8A, 0xFB, 0xFC, 0x8B, 0xB4] as [UInt8], text: "①㈱髙橋"),
    ("ISO-2022-JP", [0x1B, 0x24, 0x42, 0x2D, 0x21, 0x46, 0x7C, 0x4B, 0x5C, 0x1B, 0x28, 0x42], "①日本"),
    ("ks_c_5601-1987", [0x8C, 0x63, 0xB9, 0xE6, 0xB0, 0xA2, 0xC7, 0xCF], "똠방각하"),
    ("x-sjis", [0x83, 0x65], "テ"), ("big5-HKSCS", [0xA7, 0xDA], "我"), ("x-gbk", [0xCE, 0xD2], "我"),
    ("cp-850", [0x81], "ü"), ("x-mac-roman", [0x9F], "ü"), ("utf8mb4", [0xC3, 0xBC], "ü"),
    ("iso88591", [0x80], "€"),
    ("ISO-8859-9", [0x9C, 0xFD], "œı"), ("gb2312", [0xE9, 0x46], "镕"),
  ])
  func aLabelStandsForWhatProgramsMeanByIt(label: String, bytes: [UInt8], text: String) throws {
    let charset = try #require(Charset(label: label))
    #expect(read(bytes, charset) == text)
  }

  @Test(arguments: [
    ("<!DOCTYPE html><meta charset=windows-1251>", true),
    ("<html><head><META http-equiv=\"Content-Type\" content=\"text/html; charset=Windows-1251\">", true),
    ("<?xml version='1.0' encoding='windows-1251'?><a>", true), ("<p charset=windows-1252>", true),
  ])
  func markupSaysItsEncoding(start: String, isMarkup: Bool) {
    let bytes = Array(start.utf8) + [0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2]  // «Привет»
    let found = bytes.withUnsafeBytes { Detection(converters).detect($0, isMarkup: isMarkup) }
    if start.hasPrefix("<p") {
      #expect(found?.charset != .windows1252)
    } else {
      #expect(found?.charset == Charset(label: "windows-1251"))
    }
  }

  @Test func eachEncodingHasAConverter() {
    for charset in Charset.all { #expect(read([0x41, 0x42], charset) != nil, "\(charset.name)") }
    #expect(Detection.candidates.count > 30 && Charset(label: "no-such") == nil && Charset(label: "") == nil)
  }

  /// Bytes that are no text are nobody's.
  @Test func noiseIsUnknownOrAtLeastText() {
    var state: UInt64 = 1
    for _ in 0..<200 {
      let bytes: [UInt8] = (0..<300).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 33)
      }
      #expect(bytes.withUnsafeBytes { Detection(converters).detect($0) } == nil)
    }
  }
}
