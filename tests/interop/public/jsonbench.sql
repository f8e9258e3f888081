SELECT commit.collection AS event, COUNT(*) AS count FROM bluesky
GROUP BY event ORDER BY count DESC;
SELECT commit.collection AS event, COUNT(*) AS count, COUNT(DISTINCT did) AS users FROM bluesky
WHERE kind = 'commit' AND commit.operation = 'create'
GROUP BY event ORDER BY count DESC;
SELECT commit.collection AS event, EXTRACT(hour FROM TO_TIMESTAMP(time_us / 1000000)) AS hour_of_day,
  COUNT(*) AS count
FROM bluesky
WHERE kind = 'commit' AND commit.operation = 'create'
  AND commit.collection IN ('app.bsky.feed.post', 'app.bsky.feed.repost', 'app.bsky.feed.like')
GROUP BY event, hour_of_day ORDER BY hour_of_day, event;
SELECT did AS user_id, TO_TIMESTAMP(MIN(time_us) / 1000000) AS first_post_ts FROM bluesky
WHERE kind = 'commit' AND commit.operation = 'create' AND commit.collection = 'app.bsky.feed.post'
GROUP BY user_id ORDER BY first_post_ts ASC LIMIT 3;
SELECT did AS user_id,
  DATE_DIFF('millisecond', TO_TIMESTAMP(MIN(time_us) / 1000000), TO_TIMESTAMP(MAX(time_us) / 1000000))
    AS activity_span
FROM bluesky
WHERE kind = 'commit' AND commit.operation = 'create' AND commit.collection = 'app.bsky.feed.post'
GROUP BY user_id ORDER BY activity_span DESC LIMIT 3;
