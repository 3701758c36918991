import Foundation
import Testing

/// Many small files in one ingest: a hundred thousand with `make soak`.
@Suite(.serialized)
struct ManyFilesTests {
  private static let count = Soak.isOn ? 100_000 : 4_000
  private static let part = count / 10

  /// How fast the files go is a question for `make soak`.
  @Test func theCoordinatorStaysSmallAndTheLastFilesGoAsFastAsTheFirst() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    for index in 0..<Self.count {
      if index % 1000 == 0 {
        try FileManager.default.createDirectory(
          atPath: folder.path + "/in/\(index / 1000)", withIntermediateDirectories: true)
      }
      let text = String(repeating: "note \(index)\n", count: 1 + index % 40)
      try #require(
        FileManager.default.createFile(
          atPath: folder.path + "/in/\(index / 1000)/\(index).txt", contents: Data(text.utf8)))
    }

    let out = folder.path + "/out"
    let process = try SluiceCommand.start(
      ["ingest", "--home", "var", "--format", "json", "in"], in: folder, out: out, err: folder.path + "/err")
    var peak = 0
    var times: [Double] = []
    var lines = 0
    let reader = try #require(FileHandle(forReadingAtPath: out))
    let started = Date()
    while process.isRunning {
      usleep(50_000)
      peak = max(peak, residentKiB(of: process.processIdentifier))
      lines += reader.newLines()
      while lines >= (times.count + 1) * Self.part { times.append(Date().timeIntervalSince(started)) }
    }
    process.waitUntilExit()
    lines += reader.newLines()
    #expect(process.terminationStatus == 0)
    #expect(lines == Self.count + 1)
    #expect(peak > 0 && peak < 64 << 10, "\(peak) KiB resident")
    let paces = zip(times, [0] + times).map { $0 - $1 }
    print(
      "\(Self.part) files each took \(paces.map { String(format: "%.1f", $0) }.joined(separator: ", ")) s; \(peak) KiB resident"
    )
    guard Soak.isOn else { return }
    // The first part includes finding the files. Growth with the number of files would be tenfold over ten parts.
    let first = try #require(paces.first)
    let last = try #require(paces.last)
    #expect(last < first * 6, "the last tenth took \(last) s, the first \(first) s")
  }

  private func residentKiB(of pid: Int32) -> Int {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}

extension FileHandle {
  /// The number of lines added since the last call.
  fileprivate func newLines() -> Int {
    let data = (try? readToEnd()) ?? Data()
    return data.withUnsafeBytes { $0.count { $0 == 0x0A } }
  }
}
