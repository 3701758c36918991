import Testing

@testable import sluice_bench

struct TableTests {
  private static let ext4 = Disk(
    fileSystem: "ext4", syncs: Series([0.001, 0.002, 0.003]), origin: "in a file")
  private static let tmpfs = Disk(fileSystem: "tmpfs", syncs: Series([0.000_002]), origin: "mounted")

  private static func row(_ name: String, on disk: Disk, _ ours: [Double], goal: Goal?) -> TableRow {
    var row = TableRow(name, "files/s", ours, "plain C", [100, 100, 100], goal: goal)
    row.isBesideOthers = true
    row.processor = Paired([1200, 1300, 1250], [1000, 1000, 1000])
    row.disk = disk
    return row
  }

  @Test func aRowShowsItsDiskTheCostOfASyncAndTheProcessorTime() {
    let row = Self.row("PDFs", on: Self.ext4, [80, 90, 85], goal: .atLeast(0.8))
    #expect(
      Table(rows: [row], disks: [Self.ext4]).text == """
        ext4, in a file: 4 KiB written and synced in 2.00 ms, the median of 3

        what  disk   a sync  sluice  unit     peer     its  ratio  spread     goal     ok   CPU us   its  ratio
        PDFs  ext4  2.00 ms      85  files/s  plain C  100   0.85  0.80–0.90  >= 0.80  yes    1250  1000   1.25

        """)
  }

  @Test func theSameRowOnAnotherDiskStandsNextToIt() {
    let rows = [
      Self.row("PDFs", on: Self.ext4, [80], goal: nil), Self.row("texts", on: Self.ext4, [81], goal: nil),
      Self.row("PDFs", on: Self.tmpfs, [82], goal: nil), Self.row("texts", on: Self.tmpfs, [83], goal: nil),
    ]
    let lines = Table(rows: rows).text.split(separator: "\n").dropFirst()
    #expect(lines.map { $0.prefix(12) } == ["PDFs   ext4 ", "PDFs   tmpfs", "texts  ext4 ", "texts  tmpfs"])
  }

  @Test func rowsBesideDifferentPeersStayApart() {
    var other = Self.row("PDFs", on: Self.ext4, [81], goal: nil)
    other.peer?.name = "Huey"
    let rows = [
      Self.row("PDFs", on: Self.ext4, [80], goal: nil), other,
      Self.row("PDFs", on: Self.tmpfs, [82], goal: nil),
    ]
    let lines = Table(rows: rows).text.split(separator: "\n").dropFirst()
    #expect(lines.map { $0.contains("Huey") } == [false, false, true])
  }

  @Test func ourOwnLimitsComeInAPartOfTheirOwn() {
    let rows = [
      TableRow("start", "ms", [5, 6, 7], goal: .below(15)), Self.row("PDFs", on: Self.ext4, [80], goal: nil),
    ]
    let parts = Table(rows: rows).text.split(separator: "\n\n", omittingEmptySubsequences: true)
    #expect(parts.count == 2)
    #expect(parts.last?.contains("start    6.00  ms    5.00–7.00  < 15  yes") == true)
    #expect(parts.last?.contains("CPU") == false)
  }

  @Test func aLongNameHasALineOfItsOwn() {
    let name = String(repeating: "n", count: 60)
    let lines = Table(rows: [TableRow(name, "ms", [5], goal: nil), TableRow("b", "ms", [6], goal: nil)]).text
      .split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines == ["what  sluice  unit", name[...], "        5.00  ms", "b       6.00  ms", ""])
  }

  @Test func whatWasLeftOutOrWentWrongSaysWhy() {
    let text = Table(rows: [TableRow("a", skipped: "no python3"), TableRow("b", failed: "it ended with 1")])
      .text
    #expect(text.contains("    skipped: no python3\n"))
    #expect(text.contains("b     NO\n    failed: it ended with 1\n"))
  }

  @Test func whatWasMissedIsMarked() {
    #expect(Self.row("a", on: Self.ext4, [79], goal: .atLeast(0.8)).isReached == false)
    #expect(Self.row("a", on: Self.ext4, [80], goal: .atLeast(0.8)).isReached == true)
    #expect(TableRow("a", "us", [60.1], goal: .atMost(60)).isReached == false)
    #expect(TableRow("a", "us", [60], goal: nil).isReached == nil)
  }

  @Test func jsonHasTheDiskAndTheProcessorTime() {
    let json = Table(rows: [Self.row("PDFs", on: Self.tmpfs, [80, 90, 85], goal: .atLeast(0.9))]).json
    for member in [
      #""fileSystem":"tmpfs""#, #""syncMicroseconds":2"#, #""ratio":0.85"#, #""cpuMicroseconds":1250"#,
      #""peerCPUMicroseconds":1000"#, #""cpuRatio":1.25"#, #""reached":false"#,
    ] {
      #expect(json.contains(member), "\(member) in \(json)")
    }
  }

  @Test(arguments: [
    (0.004, "0.00"), (9.994, "9.99"), (9.996, "10.0"), (99.94, "99.9"), (99.96, "100"), (12, "12"),
    (1234.5, "1235"), (12_345.6, "12,346"), (1_234_567, "1,234,567"), (-1.5, "-1.50"),
  ])
  func aNumberHasThreeDigits(_ value: Double, _ text: String) {
    #expect(Table.number(value) == text)
  }
}
