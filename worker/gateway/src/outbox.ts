import { type Bytes, type Delivery, OUTBOX_END, OUTBOX_PREFIX, REDELIVER_MS, readDelivery } from './abi.ts'
import type { Alarm } from './alarm.ts'
import { clock } from './clock.ts'
import { logFailure } from './log.ts'

// Rows per read of the delivery loop.
const DELIVERY_BATCH = 32

/** The platform services that an outbox uses. */
export interface OutboxPlatform {
  storage: { kv: Pick<SyncKvStorage, 'get' | 'list' | 'put' | 'delete'> }
  alarm: Alarm
  deliver(delivery: Delivery): Promise<void>
}

/** Delivers the outbox rows of one object. */
export class Outbox {
  private readonly name: string
  private readonly platform: OutboxPlatform
  private delivering: Promise<void> | undefined

  constructor(name: string, platform: OutboxPlatform) {
    this.name = name
    this.platform = platform
  }

  /**
   * Delivers all rows. If a delivery fails, sets the alarm. Only one loop runs at a time, so rows stay in order. A
   * second caller waits for it.
   */
  deliver(): Promise<void> {
    this.delivering ??= this.deliverAll()
    return this.delivering
  }

  private async deliverAll(): Promise<void> {
    try {
      while (await this.deliverBatch());
    } catch (error) {
      this.platform.alarm.atLatest(clock.now() + REDELIVER_MS)
      logFailure('delivery_failed', { object: this.name }, error)
    } finally {
      this.delivering = undefined
    }
  }

  // Returns false when the outbox is empty.
  private async deliverBatch(): Promise<boolean> {
    const { kv } = this.platform.storage
    const rows = [...kv.list<Bytes>({ start: OUTBOX_PREFIX, end: OUTBOX_END, limit: DELIVERY_BATCH })]
    for (const [key, value] of rows) {
      await this.platform.deliver(readDelivery(value))
      kv.delete(key)
    }
    return rows.length > 0
  }
}
