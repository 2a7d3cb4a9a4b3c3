/** A box as a member of a network. Names are unique in a project. */
export interface NetworkMember {
  boxId: string
  project: string
  name: string
  /** True: it may change its network namespace, which is therefore given to no other box. Absent is false. */
  nesting?: boolean
  /** Mbit/s each way. Null or absent: unlimited. */
  mbps?: number | null
}

/** A prepared pair of user and network namespace that one box uses at a time, with its range of host ids. */
export interface NetworkSlot {
  index: number
  /** Path of the user namespace that owns the network namespace. It maps 0–65535 to `idBase`…. */
  userNamespace: string
  /** Path of the network namespace. In it, lo and eth0 are up, and addresses and routes are set. */
  networkNamespace: string
  /** The host id of the box's id 0. */
  idBase: number
  /** The box's IPv4 address, without prefix length. */
  address: string
  /** Host file with the names of the project's boxes, kept up to date in place, which its name server answers by. */
  hostsFile: string
  /** Host file with the resolver of boxes, the name server of their project, as a resolv.conf has it. */
  resolvFile: string
}

/** The boxes' network as the core sees it: one host's, or a cluster's. */
export interface HostNetwork {
  /** Lists present problems of the host's network, for the health report. */
  problems(): Promise<NetworkProblem[]>
  /** Returns the IPv4 address by which the host reaches a running box. Null if it does not run. */
  addressOf(boxId: string): Promise<string | null>
  /** Detaches from it. With `release`, also removes every interface, rule and claim of this instance. */
  close(options: { release: boolean }): Promise<void>
}

/** The resolvers of boxes, which follow the host's. */
export interface Resolvers {
  /** Calls `listener` with their resolv.conf now, and at each change. At most one listener. Call once the network is open. */
  onResolvers(listener: (resolvConf: string) => void): void
}

/**
 * Networks of boxes. Boxes of one project reach each other, but not boxes of other projects. No box reaches the host's own services, the
 * metadata address (169.254.0.0/16) or, unless configured, private ranges.
 */
export interface Network extends HostNetwork, Resolvers {
  /** Sets the host's sysctls and packet filter. Throws with a remedy if that is impossible. */
  open(): Promise<void>
  /** Starts to keep spare slots in the background, unless a box that joined has done so. */
  warmUp(): void
  /** Gives the box a slot, adds it to its project and publishes its name there. */
  join(member: NetworkMember): Promise<NetworkSlot>
  /**
   * Resolves once a member's project has a name server that answers. Also resolves if the server does not start, after 2 s at most. Call
   * before the member's programs run, which would read a refused query as "no such name".
   */
  namesReady(boxId: string): Promise<void>
  /** Adopts a box that an earlier process started, with the namespaces of process `pid`. */
  adopt(member: NetworkMember, slotIndex: number, pid: number): Promise<NetworkSlot>
  /** Bounds what a member sends and receives, each in Mbit/s. Null: unlimited. Does nothing for an unknown box. */
  limit(boxId: string, mbps: number | null): Promise<void>
  /** Removes the box from its project and frees the slot. Call when its processes are gone. Succeeds for an unknown box. */
  leave(boxId: string): Promise<void>
}

export interface NetworkProblem {
  code: string
  evidence: string
  remedy: string
}
