/// What a pipeline allows of contents that are taken out of contents, in a tree of any number of levels.
public struct ExpandRules: Sendable, Equatable {
  /// Levels below what was taken in.
  public var depth: Int64 = 5
  /// Attachments of one tree, without its root, and bytes of them in all.
  public var contents: Int64 = 10_000
  public var bytes: Int64 = 10_000_000_000
  /// How long stages may work on all attachments of a tree together, without its root, in milliseconds.
  public var time: Int64 = 3_600_000
  /// An attachment ends when all its children have; otherwise at once.
  public var waits = true

  public init() {}

  /// What is allowed yet of children of an attachment; a negative number of them: it stands too deep to have any.
  public func room(_ place: TreePlace) -> ChildRoom {
    if place.depth >= depth { return ChildRoom(contents: -1, bytes: .max) }
    return ChildRoom(contents: max(contents - place.contents, 0), bytes: max(bytes - place.bytes, 0))
  }

  /// Why an attachment is not worked on; `nil`: it is.
  public func problem(at place: TreePlace) -> Reason? {
    guard place.depth > 0, place.microseconds >= time * 1000 else { return nil }
    return Reason(
      stage: "expand", code: "tree-timeout",
      message:
        "stages have worked on what came out of the same content for \(Interval.text(place.microseconds / 1000)), and "
        + "'expand' allows \(Interval.text(time)) in 'time'; allow more, and retry it")
  }

  /// Why an attachment cannot have these children; `nil`: it can.
  public func problem(with children: ChildRoom, at place: TreePlace) -> (code: String, message: String)? {
    if children.contents == 0 { return nil }
    if place.depth >= depth {
      return (
        "too-deep", "it holds contents at level \(place.depth + 1), and 'expand' allows \(depth) in 'depth'"
      )
    }
    if place.contents + children.contents > contents {
      return (
        "too-many-contents",
        "it holds \(children.contents) contents, where \(place.contents) came before, and 'expand' allows "
          + "\(contents) in 'contents'"
      )
    }
    if place.bytes + children.bytes > bytes {
      return (
        "too-large",
        "the contents in it have \(ByteSize.text(children.bytes)), where \(ByteSize.text(place.bytes)) came before, and "
          + "'expand' allows \(ByteSize.text(bytes)) in 'bytes'"
      )
    }
    return nil
  }
}

/// Where an attachment stands in a tree of contents that were taken out of contents.
public struct TreePlace: Sendable, Equatable {
  /// 0: it was taken in itself.
  public var depth: Int64 = 0
  /// What has come so far out of the tree's root, at all levels: attachments, and their bytes.
  public var contents: Int64 = 0
  public var bytes: Int64 = 0
  /// How long stages have worked on these so far.
  public var microseconds: Int64 = 0

  public init(depth: Int64 = 0, contents: Int64 = 0, bytes: Int64 = 0, microseconds: Int64 = 0) {
    (self.depth, self.contents, self.bytes, self.microseconds) = (depth, contents, bytes, microseconds)
  }

  /// The most that is counted, in microseconds.
  public static let longest: Int64 = 1 << 50

  /// How long stages took, in microseconds.
  public static func time(of steps: [Step]) -> Int64 {
    steps.reduce(0) { min($0 + min(max($1.microseconds, 0), longest), longest) }
  }
}

/// What was said of an attachment that waits for its children, and what became of them.
public struct ConcludedExpansion: Sendable {
  public var mediaType: String?
  public var sizeBytes: Int64?
  /// 64 hexadecimal digits.
  public var sha256: String?
  public var metadata: [Metadatum]
  /// Where its object lies, relative to the store.
  public var url: String?
  public var derived: [DerivedObject]
  public var steps: [Step]
  /// How many of its children have each status, without those that none has.
  public var children: [Count]

  public struct Count: Sendable, Equatable {
    public var status: Status
    public var count: Int64
  }

  public init(
    mediaType: String?, sizeBytes: Int64?, sha256: String?, metadata: [Metadatum], url: String?,
    derived: [DerivedObject], steps: [Step], children: [Status: Int64]
  ) {
    self.children = Status.allCases.compactMap { status in
      children[status].map { Count(status: status, count: $0) }
    }
    (self.mediaType, self.sizeBytes, self.sha256) = (mediaType, sizeBytes, sha256)
    (self.metadata, self.url, self.derived) = (metadata, url, derived)
    self.steps = steps
  }

  /// What its metadata says of its children.
  public var tally: [Metadatum] {
    [Metadatum(key: "children.count", value: .integer(children.reduce(0) { $0 + $1.count }))]
      + children.map { Metadatum(key: "children.\($0.status.rawValue)", value: .integer($0.count)) }
  }
}
