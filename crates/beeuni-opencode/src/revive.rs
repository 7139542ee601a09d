//! Starts OpenCode again when it ends by itself.
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::inner::{Health, Inner};
use crate::link::Link;
use crate::server::{Ended, Server};

/// OpenCode is started again so many times in a row.
const MOST_DEATHS: u32 = 5;
impl Inner {
    /// Starts OpenCode again when it ends by itself.
    pub(crate) fn watch(self: &Arc<Self>, server: &Arc<Server>) {
        let (inner, server) = (Arc::downgrade(self), Arc::downgrade(server));
        tokio::spawn(async move {
            let Some(ended) = ended(&server).await else { return };
            let Some(inner) = inner.upgrade() else { return };
            inner.revive(&server, &ended).await;
        });
    }

    async fn revive(self: Arc<Self>, server: &Weak<Server>, ended: &Ended) {
        if self.flow().closed {
            return;
        }
        let mut link = self.link.lock().await;
        let is_this = |link: &Link| {
            let up = link.up.as_ref().map(|up| Arc::downgrade(&up.server));
            up.is_some_and(|up| Weak::ptr_eq(&up, server))
        };
        // Somebody was faster, or it was meant to end.
        if self.flow().closed || !is_this(&link) {
            return;
        }
        tracing::error!("OpenCode ended by itself: {ended}");
        link.died();
        loop {
            self.flow().health = Health::Starting;
            if link.deaths > MOST_DEATHS {
                let reason = format!("OpenCode ended {} times in a row; the last time: {ended}", link.deaths);
                tracing::error!("{reason}");
                self.flow().health = Health::Down {
                    reason,
                    since: Instant::now(),
                };
                return;
            }
            let pause = pause_after(link.deaths);
            drop(link);
            tokio::time::sleep(pause).await;
            link = self.link.lock().await;
            if self.flow().closed || link.up.is_some() {
                return;
            }
            match self.connect(&mut link).await {
                Ok(_) => {
                    tracing::info!("OpenCode runs again");
                    return;
                }
                Err(error) => tracing::error!("{error}"),
            }
        }
    }
}

/// Waits for the end of a server that others may have dropped. To hold it meanwhile would keep its process alive when
/// nobody else does.
async fn ended(server: &Weak<Server>) -> Option<Ended> {
    let end = server.upgrade()?.end();
    Some(end.await)
}

/// How long to wait before the next start.
fn pause_after(deaths: u32) -> Duration {
    match deaths {
        0 | 1 => Duration::ZERO,
        more => Duration::from_millis(500) * 2_u32.saturating_pow(more.saturating_sub(2).min(5)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_bearable() {
        let pauses: Vec<u128> = (0..9).map(|deaths| pause_after(deaths).as_millis()).collect();
        assert_eq!(pauses, [0, 0, 500, 1000, 2000, 4000, 8000, 16000, 16000]);
    }
}
