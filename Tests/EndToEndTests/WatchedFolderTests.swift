import Foundation
import Testing

/// `run --watch DIR`: files are taken in once they are at rest, whatever happens meanwhile.
@Suite(.serialized)
struct WatchedFolderTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing())
    try folder.write("in/first.txt", "the first\n")
  }

  private func watch(_ options: String..., quiet: String = "100ms") throws -> Resident {
    try Resident(folder, options: ["--watch", "in", "--quiet-for", quiet] + options)
  }

  /// The names of what has ended.
  private func names(_ resident: Resident) -> [String] { resident.ended.map(\.fileName).sorted() }

  @Test func whatIsThereAndWhatComesIsTakenIn() throws {
    let resident = try watch()
    try resident.wait(for: 1)
    try folder.write("in/second.txt", "the second\n")
    try folder.write("in/new/folder/third.txt", "the third\n")
    try folder.write("elsewhere/deep/fourth.txt", "the fourth\n")
    try FileManager.default.moveItem(atPath: folder.path + "/elsewhere", toPath: folder.path + "/in/moved")
    try resident.wait(for: 4)
    try folder.write("in/new/folder/fifth.txt", "the fifth\n")
    try folder.write("in/moved/deep/sixth.txt", "the sixth\n")
    try resident.wait(for: 6)
    // A folder that has left is no longer watched, and what comes into it is not taken in.
    try FileManager.default.moveItem(atPath: folder.path + "/in/moved", toPath: folder.path + "/away")
    try folder.write("away/deep/none.txt", "not here\n")
    try folder.write("in/seventh.txt", "the seventh\n")
    try resident.wait(for: 7)
    #expect(resident.stop() == 0)
    #expect(
      names(resident)
        == ["fifth", "first", "fourth", "second", "seventh", "sixth", "third"].map { $0 + ".txt" })
    #expect(resident.ended.allSatisfy { $0.isCompleted })
  }

  /// As a release is made the current one.
  @Test func aLinkThatLeadsElsewhereIsTold() throws {
    let files = FileManager.default
    try folder.write("next/second.txt", "the second\n")
    try files.createSymbolicLink(atPath: folder.path + "/current", withDestinationPath: "in")
    let resident = try Resident(folder, options: ["--watch", "current", "--quiet-for", "100ms"])
    try resident.wait(for: 1)
    try files.removeItem(atPath: folder.path + "/current")
    try files.createSymbolicLink(atPath: folder.path + "/current", withDestinationPath: "next")
    try Resident.wait("it is told") { resident.errors.contains("current: leads to \(folder.path)/next now") }
    #expect(resident.stop() == 0)
  }

  /// In a namespace of its own, which only root may make.
  @Test(.enabled(if: geteuid() == 0, "it mounts a file system"))
  func aDiskThatIsMountedInAWatchedFolderIsLookedThrough() throws {
    let script = """
      sluice run --home home --watch in --quiet-for 100ms & run=$!
      until sluice list --home home 2>/dev/null | grep -q first; do sleep 0.1; done
      mkdir in/disk; mount -t tmpfs disk in/disk; echo second > in/disk/second.txt
      for try in $(seq 600); do sluice list --home home | grep -q second && break; sleep 0.1; done
      sluice list --home home; kill $run; wait $run
      """
    let outcome = try SluiceCommand.run(
      ["-m", "sh", "-c", script], in: folder,
      environment: ["PATH": "\(SluiceCommand.folder):/usr/bin:/bin:/usr/sbin:/sbin"],
      program: "/usr/bin/unshare")
    // A container may forbid it.
    if outcome.err.contains("unshare failed") { return }
    #expect(outcome.out.contains("second.txt"), "\(outcome.out)\(outcome.err)")
  }

  @Test func aRestartFindsWhatCameMeanwhileAndKnowsTheRest() throws {
    let first = try watch()
    try first.wait(for: 1)
    #expect(first.stop() == 0)
    try folder.write("in/second.txt", "the second\n")
    let second = try watch()
    try second.wait(for: 1)
    #expect(second.stop() == 0)
    #expect(names(second) == ["second.txt"])
  }

  @Test func aFileThatIsOpenForWritingIsNotTakenHoweverQuietItIs() throws {
    let resident = try watch()
    try resident.wait(for: 1)
    let writer = try #require(fopen(folder.path + "/in/slow.txt", "w"))
    fputs("the beginning", writer)
    fflush(writer)
    usleep(700_000)
    #expect(resident.ended.count == 1)
    fputs(" and the end", writer)
    fclose(writer)
    try resident.wait(for: 2)
    #expect(resident.stop() == 0)
    #expect(resident.ended.last?.sizeBytes == 25)
  }

  @Test func aFileThatWasOpenBeforeItWasWatchedIsNotTakenEither() throws {
    let writer = try #require(fopen(folder.path + "/in/slow.txt", "w"))
    fputs("the beginning", writer)
    fflush(writer)
    usleep(300_000)
    let resident = try watch()
    try resident.wait(for: 1)
    usleep(500_000)
    #expect(names(resident) == ["first.txt"])
    fclose(writer)
    try resident.wait(for: 2)
    #expect(resident.stop() == 0)
  }

  @Test func aFileThatGrowsByManyWritersIsTakenOnceItRests() throws {
    let resident = try watch(quiet: "600ms")
    for _ in 0..<8 {
      let writer = try #require(fopen(folder.path + "/in/grows.txt", "a"))
      fputs("a line\n", writer)
      fclose(writer)
      usleep(150_000)
    }
    try resident.wait(for: 2)
    #expect(resident.stop() == 0)
    #expect(resident.ended.first { $0.fileName == "grows.txt" }?.sizeBytes == 56)
  }

  /// The kernel keeps 16,384 changes by default. What comes after them is found by looking.
  @Test func changesThatTheKernelDropsAreFoundByLooking() throws {
    let resident = try watch()
    try resident.wait(for: 1)
    try Resident.suspend(resident.process.processIdentifier)
    let limit = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
    let count = (Int(limit.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 16384) / 2 + 1000
    let writers = try ["a", "b"].map { try #require(fopen("\(folder.path)/in/\($0).txt", "w")) }
    for _ in 0..<count {
      for writer in writers {
        fputs("x", writer)
        fflush(writer)
      }
    }
    for writer in writers { fclose(writer) }
    try folder.write("in/unheard/of.txt", "nobody told\n")
    kill(resident.process.processIdentifier, SIGCONT)
    try resident.wait(for: 4)
    #expect(resident.stop() == 0)
    #expect(names(resident) == ["a.txt", "b.txt", "first.txt", "of.txt"])
  }

  @Test func aFolderThatIsAwayIsWatchedAgainOnceItIsThere() throws {
    let resident = try watch()
    try resident.wait(for: 1)
    try FileManager.default.moveItem(atPath: folder.path + "/in", toPath: folder.path + "/gone")
    try Resident.wait("it says so") { resident.errors.contains("/in: the watched folder is away") }
    try folder.write("gone/none.txt", "not here\n")
    try folder.write("in/again.txt", "there again\n")
    try resident.wait(for: 2)
    #expect(resident.stop() == 0)
    #expect(names(resident) == ["again.txt", "first.txt"])
  }

  /// ext4 gives a folder that is made anew the inode number of the one before, so the number does not tell them apart.
  @Test func aFolderThatIsMadeAnewIsWatchedAgain() throws {
    func inode() throws -> UInt64 {
      var facts = stat()
      try #require(lstat(folder.path + "/in", &facts) == 0)
      return UInt64(facts.st_ino)
    }
    let resident = try watch()
    try resident.wait(for: 1)
    for round in 1...5 {
      // The same number is likely, not certain; each round is one more attempt.
      let before = try inode()
      for _ in 0..<50 {
        try FileManager.default.removeItem(atPath: folder.path + "/in")
        try FileManager.default.createDirectory(
          atPath: folder.path + "/in", withIntermediateDirectories: false)
        if try inode() == before { break }
      }
      try folder.write("in/\(round).txt", "round \(round)\n")
      try resident.wait(for: 1 + round)
    }
    #expect(resident.stop() == 0)
  }

  @Test func linksAreToldAndNotFollowedAndTheHomeIsPassedOver() throws {
    try folder.write("secret.txt", "not for here\n")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/in/link.txt", withDestinationPath: "../secret.txt")
    let resident = try Resident(folder, home: "in/home", options: ["--watch", "in", "--quiet-for", "100ms"])
    try resident.wait(for: 1)
    try Resident.wait("it says so") {
      resident.errors.contains("/in/link.txt: a symbolic link; not followed")
    }
    usleep(400_000)
    #expect(resident.stop() == 0)
    #expect(names(resident) == ["first.txt"])
  }

  @Test(arguments: [
    (["--consume", "delete"], 2, "option '--consume' is about watched folders"),
    (["--watch", "in", "--consume", "burn"], 2, "option '--consume' is delete or move:DIR, not 'burn'"),
    (["--watch", "none"], 2, "--watch none: No such file or directory; name a folder"),
    (["--watch", "pipeline.yaml"], 2, "--watch pipeline.yaml: not a folder"),
    (["--watch", "in", "--watch", "."], 2, "overlaps with"),
    (["--watch", "in", "--consume", "move:in/done"], 2, "lies in a watched folder"),
    (["--watch", "in", "--consume", "move:/proc/self"], 2, "is on another file system"),
    (["--watch", "home/store"], 2, "lies in the home"),
    (["--watch", "in", "--consume", "delete", "-c", "keeps.yaml"], 78, "would remove the only copy"),
  ])
  func whatCannotBeIsRefused(words: [String], status: Int32, says: String) throws {
    try folder.write("in/done/.keep", "")
    try folder.write("home/store/.keep", "")
    try folder.write("keeps.yaml", Pipelines.only("size, options: { max: 1MB }"))
    let outcome = try SluiceCommand.run(["run", "--home", "home"] + words, in: folder)
    #expect(outcome.status == status && outcome.err.contains(says), "\(outcome.err)")
  }
}
